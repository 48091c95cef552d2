//! Reads just enough JSON to find where values stand. It checks the shape (brackets, strings, members), not the grammar of
//! numbers: what a member sent is passed on byte for byte, and only what is read from it must be right.

use std::borrow::Cow;
use std::ops::Range;

use super::BodyError;

/// A place in a JSON text.
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A string as it stands between its quotes.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

type Result<T> = std::result::Result<T, BodyError>;

// === impl Text ===

impl<'a> Text<'a> {
    /// The string that it spells.
    pub(super) fn decode(self) -> Result<Cow<'a, str>> {
        if !self.escaped {
            return Ok(Cow::Borrowed(self.raw));
        }
        let quoted = format!("\"{}\"", self.raw);
        serde_json::from_str(&quoted).map(Cow::Owned).map_err(|source| BodyError::Escape { source })
    }
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where it stands.
    pub(super) fn at(&self) -> usize {
        self.at
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

    /// Nothing but white space is left.
    pub(super) fn end(&mut self) -> Result<()> {
        if self.peek() == 0 && self.at == self.bytes.len() { Ok(()) } else { self.fail() }
    }

    /// Passes an object and gives where it stands. `visit` gets each member with the scanner before its value, which it
    /// must pass.
    pub(super) fn members(
        &mut self,
        mut visit: impl FnMut(&mut Self, Cow<'a, str>) -> Result<()>,
    ) -> Result<Range<usize>> {
        self.take(b'{')?;
        let start = self.at - 1;
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(start..self.at);
        }
        loop {
            let key = self.string()?.decode()?;
            self.take(b':')?;
            self.peek();
            visit(self, key)?;
            match self.peek() {
                b',' => self.at += 1,
                b'}' => break,
                _ => return self.fail(),
            }
        }
        self.at += 1;
        Ok(start..self.at)
    }

    /// Passes a string.
    pub(super) fn string(&mut self) -> Result<Text<'a>> {
        self.take(b'"')?;
        let start = self.at;
        let escaped = self.pass_string()?;
        let raw = std::str::from_utf8(&self.bytes[start..self.at - 1]).map_err(|_| BodyError::Syntax { at: start })?;
        Ok(Text { raw, escaped })
    }

    /// Passes a scalar and gives the text that it stands for: a string decoded, anything else as it is spelled; `None` for
    /// null, an object or an array.
    pub(super) fn scalar(&mut self) -> Result<Option<Cow<'a, str>>> {
        match self.peek() {
            b'"' => self.string()?.decode().map(Some),
            b'{' | b'[' => self.value().map(|_| None),
            _ => {
                let range = self.value()?;
                let text = std::str::from_utf8(&self.bytes[range]).unwrap_or("null");
                Ok((text != "null").then_some(Cow::Borrowed(text)))
            }
        }
    }

    /// Passes any value and gives where it stands.
    pub(super) fn value(&mut self) -> Result<Range<usize>> {
        let first = self.peek();
        let start = self.at;
        match first {
            b'"' => {
                self.at += 1;
                self.pass_string()?;
            }
            b'{' | b'[' => self.pass_nested()?,
            _ => self.pass_word()?,
        }
        Ok(start..self.at)
    }

    fn take(&mut self, wanted: u8) -> Result<()> {
        if self.peek() != wanted {
            return self.fail();
        }
        self.at += 1;
        Ok(())
    }

    /// Passes what is left of a string, its closing quote too; whether there are escapes in it.
    fn pass_string(&mut self) -> Result<bool> {
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            match memchr::memchr2(b'"', b'\\', rest) {
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

    fn pass_word(&mut self) -> Result<()> {
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = self.bytes[self.at..].iter().take_while(|byte| word(byte)).count();
        self.at += length;
        if length == 0 { self.fail() } else { Ok(()) }
    }

    fn pass_nested(&mut self) -> Result<()> {
        let mut depth = 0usize;
        // Which of the open brackets are braces, innermost lowest; beyond 128 levels only their number is checked.
        let mut braces = 0u128;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => {
                    self.pass_string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    braces = braces << 1 | u128::from(byte == b'{');
                }
                b'}' | b']' => {
                    if depth <= 128 && (braces & 1 == 1) != (byte == b'}') {
                        self.at -= 1;
                        return self.fail();
                    }
                    depth -= 1;
                    braces >>= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        self.fail()
    }

    fn fail<T>(&self) -> Result<T> {
        Err(BodyError::Syntax { at: self.at.min(self.bytes.len()) })
    }
}
