use wasmtime::ResourceLimiter;

/// Holds the memory of one call to its bound. A guest that asks for more ends there: an allocation that merely fails makes
/// each language do something else.
#[derive(Debug)]
pub(crate) struct Limiter {
    bytes: usize,
    bytes_max: usize,
}

/// A guest asked for more memory than it may have.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("it asked for more than its {0} bytes of memory")]
pub(crate) struct MemoryExceeded(usize);

/// Largest table, in elements: twice what the largest language runtime has.
const TABLE_MAX: usize = 40_000;

// === impl Limiter ===

impl Limiter {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes: 0, bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX) }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = self.bytes.saturating_add(desired.saturating_sub(current));
        if bytes > self.bytes_max {
            return Err(MemoryExceeded(self.bytes_max).into());
        }
        self.bytes = bytes;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_MAX)
    }
}
