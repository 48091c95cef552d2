//! YAML from JSON, while it streams by.

mod scalar;

use scalar::Scalar;

/// Writes the YAML of a JSON text in block style, its members in their own order: state is a depth and one scalar, so
/// that a list of any length can be written.
#[derive(Debug, Default)]
pub(crate) struct YamlWriter {
    levels: Vec<Level>,
    /// A scalar that has begun, as it stands in the JSON.
    scalar: Vec<u8>,
    token: Token,
    /// An opening bracket was read, and what follows decides whether it stays empty.
    opened: Option<Kind>,
    after: After,
}

/// An object or array that is open.
#[derive(Clone, Copy, Debug)]
struct Level {
    kind: Kind,
    /// Where its entries begin.
    indent: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Map,
    Sequence,
}

/// What is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Token {
    /// Between tokens.
    #[default]
    None,
    Text {
        escaped: bool,
    },
    /// A number, or `true`, `false`, `null`.
    Word,
}

/// What the output ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    /// Nothing: the next entry is the first of the document.
    #[default]
    Start,
    /// `key:`.
    Key,
    /// `-`: the first entry of what it holds stands on its line.
    Dash,
    /// A whole value.
    Value,
}

// === impl YamlWriter ===

impl YamlWriter {
    /// Appends the YAML of the next part of the JSON text to `out`.
    pub(crate) fn feed(&mut self, json: &[u8], out: &mut Vec<u8>) {
        for &byte in json {
            match self.token {
                Token::Text { escaped } => self.in_text(byte, escaped, out),
                Token::Word if matches!(byte, b',' | b'}' | b']' | b':') || byte.is_ascii_whitespace() => {
                    self.end_scalar(out);
                    self.structure(byte, out);
                }
                Token::Word => self.scalar.push(byte),
                Token::None => self.structure(byte, out),
            }
        }
    }

    /// Ends the document.
    pub(crate) fn finish(mut self, out: &mut Vec<u8>) {
        if self.token == Token::Word {
            self.end_scalar(out);
        }
        out.push(b'\n');
    }

    fn in_text(&mut self, byte: u8, escaped: bool, out: &mut Vec<u8>) {
        self.scalar.push(byte);
        match byte {
            b'"' if !escaped => self.end_scalar(out),
            _ => self.token = Token::Text { escaped: byte == b'\\' && !escaped },
        }
    }

    fn structure(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'{' => self.open(Kind::Map, out),
            b'[' => self.open(Kind::Sequence, out),
            b'}' | b']' => self.close(out),
            b',' => self.after = After::Value,
            b'"' => self.begin_scalar(byte, Token::Text { escaped: false }),
            _ if byte.is_ascii_whitespace() || byte == b':' => {}
            _ => self.begin_scalar(byte, Token::Word),
        }
    }

    fn begin_scalar(&mut self, byte: u8, token: Token) {
        self.token = token;
        self.scalar.push(byte);
    }

    fn open(&mut self, kind: Kind, out: &mut Vec<u8>) {
        self.begin_entry(out);
        self.opened = Some(kind);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        match self.opened.take() {
            Some(kind) => {
                self.space(out);
                out.extend_from_slice(if kind == Kind::Map { b"{}" } else { b"[]" });
            }
            None => drop(self.levels.pop()),
        }
        self.after = After::Value;
    }

    fn end_scalar(&mut self, out: &mut Vec<u8>) {
        let json = std::mem::take(&mut self.scalar);
        let scalar = Scalar::read(&json);
        self.token = Token::None;
        self.begin_entry(out);
        let is_key = self.level().is_some_and(|level| level.kind == Kind::Map) && self.after != After::Key;
        if is_key {
            self.begin_line(out);
            scalar.write_key(out);
            out.push(b':');
            self.after = After::Key;
        } else {
            self.space(out);
            let indent = self.level().map_or(0, |level| level.indent);
            scalar.write(indent + 2, out);
            self.after = After::Value;
        }
        // The buffer is kept for the next one.
        self.scalar = json;
        self.scalar.clear();
    }

    /// What was opened holds something, so it becomes a level; an entry of a sequence begins with its dash.
    fn begin_entry(&mut self, out: &mut Vec<u8>) {
        if let Some(kind) = self.opened.take() {
            let outer = self.level();
            let indent = match (outer, self.after) {
                (None, _) => 0,
                // A sequence that is a member's value stands below its key, not deeper.
                (Some(outer), After::Key) if kind == Kind::Sequence => outer.indent,
                (Some(outer), _) => outer.indent + 2,
            };
            self.levels.push(Level { kind, indent });
            if self.after == After::Key {
                self.after = After::Value;
            }
        }
        if self.level().is_some_and(|level| level.kind == Kind::Sequence) {
            self.begin_line(out);
            out.push(b'-');
            self.after = After::Dash;
        }
    }

    /// Goes to where the next entry of the innermost level stands: on the line of a dash just written, or on its own.
    fn begin_line(&mut self, out: &mut Vec<u8>) {
        match self.after {
            After::Start => {}
            After::Dash => out.push(b' '),
            After::Key | After::Value => {
                out.push(b'\n');
                out.resize(out.len() + self.level().map_or(0, |level| level.indent), b' ');
            }
        }
    }

    fn space(&self, out: &mut Vec<u8>) {
        if self.after != After::Start {
            out.push(b' ');
        }
    }

    fn level(&self) -> Option<Level> {
        self.levels.last().copied()
    }
}

#[cfg(test)]
mod tests;
