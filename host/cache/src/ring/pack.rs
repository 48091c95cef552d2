//! Compression of a body against one that is much like it (zstd with the other as prefix).

use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, compress_bound};

/// zstd's level: the fastest. What is gained here comes from the prefix.
const LEVEL: i32 = 1;
/// Above this, body and prefix together are more than the level's tables are made for: 2^14 places for all of the prefix.
const LARGE_BYTES: usize = 128 << 10;
/// The largest window and the largest table (4 bytes a place) for those, as powers of two.
const WINDOW_LOG_MAX: u32 = 27;
const HASH_LOG_MAX: u32 = 20;

/// The compressed form of each body, against its prefix; the body as it is where that is no longer.
pub(super) fn pack_all<'a>(bodies: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<Box<[u8]>> {
    let mut context = CCtx::create();
    let mut scratch = Vec::new();
    bodies.map(|(body, prefix)| pack(&mut context, &mut scratch, body, prefix).unwrap_or_else(|| body.into())).collect()
}

/// The `length` bytes that were packed into `packed` against `prefix`.
pub(super) fn unpack(packed: &[u8], prefix: &[u8], length: usize) -> Vec<u8> {
    if packed.len() == length {
        return packed.to_vec();
    }
    let mut out = Vec::with_capacity(length);
    let mut context = DCtx::create();
    let done = context
        .set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))
        .and_then(|_| context.ref_prefix(prefix))
        .and_then(|_| context.decompress(&mut out, packed));
    done.expect("the bytes were packed by this process against the same prefix");
    out
}

fn pack<'a>(context: &mut CCtx<'a>, scratch: &mut Vec<u8>, body: &'a [u8], prefix: &'a [u8]) -> Option<Box<[u8]>> {
    let together = body.len() + prefix.len();
    let log = together.next_power_of_two().ilog2();
    // 0 leaves it to the level.
    let (window, hash) = if together > LARGE_BYTES { (log.min(WINDOW_LOG_MAX), log.min(HASH_LOG_MAX)) } else { (0, 0) };
    scratch.clear();
    scratch.reserve(compress_bound(body.len()));
    let done = context
        .set_parameter(CParameter::CompressionLevel(LEVEL))
        .and_then(|_| context.set_parameter(CParameter::WindowLog(window)))
        .and_then(|_| context.set_parameter(CParameter::HashLog(hash)))
        .and_then(|_| context.set_parameter(CParameter::ContentSizeFlag(false)))
        .and_then(|_| context.ref_prefix(prefix))
        .and_then(|_| context.compress2(scratch, body));
    done.ok().filter(|_| scratch.len() < body.len()).map(|_| scratch[..].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(body: &[u8], prefix: &[u8]) -> usize {
        let packed = pack_all([(body, prefix)].into_iter()).remove(0);
        assert_eq!(unpack(&packed, prefix, body.len()), body);
        packed.len()
    }

    /// Bytes that do not repeat, so that only the prefix can help.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn a_body_that_differs_from_its_prefix_in_three_places_takes_few_bytes() {
        let prefix = noise(8700);
        let mut body = prefix.clone();
        for at in [100, 4000, 8000] {
            body.splice(at..at + 10, *b"0123456789abc");
        }
        let packed = round(&body, &prefix);
        assert!(packed < 150, "{packed}");
    }

    #[test]
    fn a_body_of_the_largest_size_still_finds_its_prefix() {
        let prefix = noise(1 << 20);
        let mut body = prefix.clone();
        body.splice(500..500, *b"and more");
        let packed = round(&body, &prefix);
        assert!(packed < 10_000, "{packed}");
    }

    #[test]
    fn what_cannot_be_compressed_is_kept_as_it_is() {
        assert_eq!(round(&noise(1000), b""), 1000);
        assert_eq!(round(b"", b"prefix"), 0);
    }
}
