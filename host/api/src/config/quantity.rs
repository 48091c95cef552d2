use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

/// A number of bytes, written as a Kubernetes quantity: `2147483648`, `2Gi`, `500M`, `1.5Gi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

/// A text that is no number of bytes.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is no number of bytes; write it as 2147483648, 500M or 2Gi")]
pub struct ParseByteSizeError(String);

const SUFFIXES: [(&str, u64); 10] = [
    ("", 1),
    ("k", 1000),
    ("M", 1000 * 1000),
    ("G", 1000 * 1000 * 1000),
    ("T", 1000 * 1000 * 1000 * 1000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("B", 1),
];

// === impl ByteSize ===

impl ByteSize {
    /// `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// How many bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let fail = || ParseByteSizeError(text.to_owned());
        let suffix_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(suffix_at);
        let unit = SUFFIXES.iter().find(|(name, _)| *name == suffix).ok_or_else(fail)?.1;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let whole: u64 = whole.parse().map_err(|_| fail())?;
        let part_of_unit = fraction(part, unit).ok_or_else(fail)?;
        whole.checked_mul(unit).and_then(|bytes| bytes.checked_add(part_of_unit)).map(Self).ok_or_else(fail)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = SUFFIXES[5..9].iter().rev();
        match binary.clone().find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// `0.digits` of `unit`, cut to whole bytes.
fn fraction(digits: &str, unit: u64) -> Option<u64> {
    if digits.len() > 9 {
        return None;
    }
    let (number, base) = (digits.parse::<u128>().ok()?, 10u128.pow(u32::try_from(digits.len()).ok()?));
    u64::try_from(number * u128::from(unit) / base).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_read_with_decimal_and_binary_units() {
        let read = |text: &str| text.parse::<ByteSize>().map(ByteSize::bytes);
        assert_eq!(read("2147483648"), Ok(1 << 31));
        assert_eq!(read("2Gi"), Ok(2 << 30));
        assert_eq!(read("1.5Gi"), Ok(3 << 29));
        assert_eq!(read("500M"), Ok(500_000_000));
        for text in ["", "Gi", "-1", "1 Gi", "1gi", "99999999999Ti", "1.Gi", "1.0000000001Gi"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_quantity_prints_what_reads_back() {
        for (bytes, shown) in [(2 << 30, "2Gi"), (1536 << 20, "1536Mi"), (1000, "1000"), (0, "0")] {
            assert_eq!(ByteSize::new(bytes).to_string(), shown);
            assert_eq!(shown.parse(), Ok(ByteSize::new(bytes)));
        }
    }
}
