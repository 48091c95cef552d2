use std::fmt;

/// A marker: the host's own resourceVersion. A decimal u64, above 0 and below 2^53 (some clients parse it as a double).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marker(u64);

/// A number that cannot be a marker.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0} is no marker: markers are above 0 and below 2^53")]
pub struct MarkerError(u64);

/// A member's own resourceVersion of one resource. Order exists within one (cluster, resource) only, so the type has no
/// `Ord`: whoever compares two of them names what they do, by [`MemberVersion::is_after`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberVersion(u64);

/// 64 bits that stand for an object's bytes: 16 of the *scheme* they were read in (served version and the server's
/// version), 48 of the JSON without `kind` and `apiVersion`. Digests of two schemes say nothing about each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(u64);

/// Wall-clock time, in microseconds since 1970, as the caller read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMicros(pub u64);

// === impl Marker ===

impl Marker {
    /// The smallest marker.
    pub const FIRST: Self = Self(1);

    /// The largest marker.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// The marker with this number.
    pub fn new(number: u64) -> Result<Self, MarkerError> {
        if number == 0 || number > Self::MAX.0 { Err(MarkerError(number)) } else { Ok(Self(number)) }
    }

    /// Its number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The next one.
    ///
    /// # Panics
    /// At 2^53, which a term that starts at today's microseconds reaches in the year 2255.
    pub fn next(self) -> Self {
        assert!(self < Self::MAX, "markers are used up");
        Self(self.0 + 1)
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl MemberVersion ===

impl MemberVersion {
    /// The version that a member's `resourceVersion` spells; `None` where it is not a decimal u64 (such kinds cannot be
    /// clocked, design 1).
    pub fn parse(text: &str) -> Option<Self> {
        let decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        decimal.then(|| text.parse().ok().map(Self)).flatten()
    }

    /// The version with this number.
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// Its number, to be written or shown.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Whether this version of a cluster's resource comes after `other` of the same cluster and resource.
    pub fn is_after(self, other: Self) -> bool {
        self.0 > other.0
    }
}

impl fmt::Display for MemberVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl Digest ===

impl Digest {
    /// The digest of content whose 64-bit hash is `content`, read in the scheme whose 64-bit hash is `scheme`.
    pub fn new(scheme: u64, content: u64) -> Self {
        Self(scheme << 48 | content & ((1 << 48) - 1))
    }

    /// The digest whose bits were written to a log.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Whether both are of one scheme and of different content: the only case that shows a difference.
    pub fn differs_from(self, other: Self) -> bool {
        self.0 >> 48 == other.0 >> 48 && self != other
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_what_a_double_cannot_hold_are_no_markers() {
        assert!(Marker::new(0).is_err());
        assert!(Marker::new(1 << 53).is_err());
        assert_eq!(Marker::new((1 << 53) - 1).unwrap(), Marker::MAX);
    }

    #[test]
    fn only_decimal_texts_are_member_versions() {
        for text in ["", "+1", "-1", "1a", " 1", "99999999999999999999"] {
            assert_eq!(MemberVersion::parse(text), None, "{text:?}");
        }
        assert_eq!(MemberVersion::parse("42").map(MemberVersion::number), Some(42));
    }

    #[test]
    fn digests_of_two_schemes_never_differ() {
        assert!(Digest::new(1, 1).differs_from(Digest::new(1, 2)));
        assert!(!Digest::new(1, 1).differs_from(Digest::new(1, 1)));
        assert!(!Digest::new(1, 1).differs_from(Digest::new(2, 2)));
    }
}
