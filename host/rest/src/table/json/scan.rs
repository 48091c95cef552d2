use std::borrow::Cow;

use super::{Result, Unreadable, brackets};

/// A place in a JSON text.
pub(super) struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A string as it stands between its quotes.
pub(super) struct Quoted<'a> {
    raw: &'a [u8],
    escaped: bool,
}

// === impl Quoted ===

impl<'a> Quoted<'a> {
    /// Its bytes, if they spell themselves.
    pub(super) fn plain(&self) -> Option<&'a [u8]> {
        (!self.escaped).then_some(self.raw)
    }

    /// The text that it spells.
    pub(super) fn decode(self) -> Result<Cow<'a, str>> {
        let raw = std::str::from_utf8(self.raw).map_err(|error| Unreadable(error.to_string()))?;
        if !self.escaped {
            return Ok(Cow::Borrowed(raw));
        }
        serde_json::from_str(&format!("\"{raw}\"")).map(Cow::Owned).map_err(|error| Unreadable(error.to_string()))
    }
}

// === impl Scan ===

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next byte that is not white space, without passing it; 0 at the end.
    pub(super) fn peek(&mut self) -> u8 {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return byte;
            }
            self.at += 1;
        }
        0
    }

    /// Passes `wanted`.
    pub(super) fn take(&mut self, wanted: u8) -> Result<()> {
        if self.peek() != wanted {
            return self.fail();
        }
        self.at += 1;
        Ok(())
    }

    /// Passes what stands before the next member or item, or `end`; whether there is a next.
    pub(super) fn next(&mut self, end: u8, first: bool) -> Result<bool> {
        match self.peek() {
            byte if byte == end => {
                self.at += 1;
                Ok(false)
            }
            b',' if !first => {
                self.at += 1;
                Ok(true)
            }
            0 => self.fail(),
            _ if first => Ok(true),
            _ => self.fail(),
        }
    }

    /// Passes a string.
    pub(super) fn string(&mut self) -> Result<Quoted<'a>> {
        self.take(b'"')?;
        let start = self.at;
        let escaped = self.pass_string()?;
        Ok(Quoted { raw: &self.bytes[start..self.at - 1], escaped })
    }

    /// Passes a number, a boolean or null.
    pub(super) fn word(&mut self) -> Result<&'a str> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|&&byte| is_word(byte)).count();
        let word = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        self.at += length;
        if word.is_empty() { self.fail() } else { Ok(word) }
    }

    /// Passes null, if it is next.
    pub(super) fn null(&mut self) -> bool {
        let null = self.peek() == b'n' && self.bytes[self.at..].starts_with(b"null");
        self.at += if null { 4 } else { 0 };
        null
    }

    /// Passes any value.
    pub(super) fn pass(&mut self) -> Result<()> {
        match self.peek() {
            b'"' => self.string().map(drop),
            b'{' | b'[' => self.pass_nested(),
            _ => self.word().map(drop),
        }
    }

    /// Passes what is left of a string, its closing quote too; whether there are escapes in it.
    fn pass_string(&mut self) -> Result<bool> {
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            match brackets::quote_or_backslash(rest) {
                Some(found) if rest[found] == b'"' => {
                    self.at += found + 1;
                    return Ok(escaped);
                }
                Some(found) => {
                    escaped = true;
                    self.at += found + 2;
                }
                None => return self.fail(),
            }
        }
    }

    fn pass_nested(&mut self) -> Result<()> {
        let Some(end) = brackets::end(self.bytes, self.at) else { return self.fail() };
        self.at = end;
        Ok(())
    }

    fn fail<T>(&self) -> Result<T> {
        Err(Unreadable::at(self.at.min(self.bytes.len())))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}
