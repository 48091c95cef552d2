//! What fuzzing calls. It must bear any bytes.

use crate::runtime::Code;

/// Reads a component, or a core module, with its manifest and cases. What was made of it is a component itself.
///
/// # Panics
/// What one reading made another one refuses.
pub fn component(bytes: &[u8]) {
    let Ok(code) = Code::read(bytes) else { return };
    let again = Code::read(&code.bytes);
    assert!(again.is_ok_and(|again| again.bytes == code.bytes), "it does not take what it made");
}
