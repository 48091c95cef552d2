//! Tokens of CEL's text, as the language definition has them.

use std::ops::Range;

use crate::source::Problem;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Identifier(String),
    /// An identifier between backticks: a field whose name no plain identifier can have.
    Quoted(String),
    Int(u64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// An operator or a bracket.
    Sign(&'static str),
    End,
}

/// Longer ones first, so that each is found whole.
const SIGNS: [&str; 26] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]",
    "{", "}", "=", "&",
];

/// The tokens of `text` with where each stands; the last is [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, Problem> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, start..lexer.at));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

// === impl Lexer ===

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn problem(&self, at: usize, message: impl Into<String>) -> Problem {
        Problem::at(self.text, at, message)
    }

    fn take_while(&mut self, test: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !test(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// White space and comments, which begin with two slashes.
    fn skip_blanks(&mut self) {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<Token, Problem> {
        let Some(first) = self.peek() else { return Ok(Token::End) };
        let rest = self.rest();
        let prefix =
            rest.bytes().take(3).position(|byte| byte == b'"' || byte == b'\'').filter(|at| is_prefix(&rest[..*at]));
        if let Some(prefix) = prefix {
            return self.quoted(prefix);
        }
        if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            return self.number();
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token::Identifier(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned()));
        }
        if first == '`' {
            return self.backticks();
        }
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        match sign {
            Some(sign) if *sign != "=" && *sign != "&" => {
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
            Some(sign) => Err(self.problem(self.at, format!("{sign} is no operator; write {sign}{sign}"))),
            None => Err(self.problem(self.at, format!("the character {first:?} has no meaning here"))),
        }
    }

    fn backticks(&mut self) -> Result<Token, Problem> {
        let start = self.at;
        self.at += 1;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || "_.-/ ".contains(c)).to_owned();
        if !self.rest().starts_with('`') || name.is_empty() {
            return Err(self.problem(start, "a field between backticks is letters, digits, _ . - / and blanks"));
        }
        self.at += 1;
        Ok(Token::Quoted(name))
    }

    fn number(&mut self) -> Result<Token, Problem> {
        let start = self.at;
        if self.rest().starts_with("0x") || self.rest().starts_with("0X") {
            self.at += 2;
            let digits = self.take_while(|c| c.is_ascii_hexdigit()).to_owned();
            return self.whole(start, &digits, 16);
        }
        let digits = self.take_while(|c| c.is_ascii_digit()).to_owned();
        let mut is_double = false;
        if self.rest().starts_with('.') && self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
            is_double = true;
        }
        let exponent = self.rest().trim_start_matches(['e', 'E']);
        if exponent.len() + 1 == self.rest().len()
            && exponent.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit())
        {
            self.at += 1;
            self.take_while(|c| matches!(c, '+' | '-'));
            self.take_while(|c| c.is_ascii_digit());
            is_double = true;
        }
        if !is_double {
            return self.whole(start, &digits, 10);
        }
        let written = &self.text[start..self.at];
        let double = written.parse().ok().filter(|double: &f64| double.is_finite());
        double.map(Token::Double).ok_or_else(|| self.problem(start, format!("{written} is no double")))
    }

    fn whole(&mut self, start: usize, digits: &str, radix: u32) -> Result<Token, Problem> {
        let value = u64::from_str_radix(digits, radix);
        let is_unsigned = self.rest().starts_with(['u', 'U']);
        self.at += usize::from(is_unsigned);
        let written = &self.text[start..self.at];
        match value {
            Ok(value) if is_unsigned => Ok(Token::Uint(value)),
            // One more than the largest int: a minus may stand before it.
            Ok(value) if value <= 1 << 63 => Ok(Token::Int(value)),
            _ => Err(self.problem(start, format!("{written} does not fit into 64 bits"))),
        }
    }

    /// A string or bytes literal whose prefix (`r`, `b`, `br` or none) is `prefix` bytes long.
    fn quoted(&mut self, prefix: usize) -> Result<Token, Problem> {
        let start = self.at;
        let letters = self.rest()[..prefix].to_ascii_lowercase();
        let (is_raw, is_bytes) = (letters.contains('r'), letters.contains('b'));
        self.at += prefix;
        let rest = self.rest();
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote)).unwrap_or("\"");
        self.at += quote.len();
        let mut bytes = Vec::new();
        loop {
            if self.rest().starts_with(quote) {
                self.at += quote.len();
                break;
            }
            match self.peek() {
                None => return Err(self.problem(start, format!("the string has no closing {quote}"))),
                Some('\n' | '\r') if quote.len() == 1 => {
                    return Err(self.problem(start, format!("the string has no closing {quote} on its line")));
                }
                Some('\\') if !is_raw => self.escape(is_bytes, &mut bytes)?,
                Some('\\') if self.rest().len() > 1 => {
                    // In a raw string a backslash stays, and what follows does not end the string.
                    bytes.push(b'\\');
                    self.at += 1;
                    self.push_char(&mut bytes);
                }
                Some(_) => self.push_char(&mut bytes),
            }
        }
        if is_bytes {
            return Ok(Token::Bytes(bytes));
        }
        let text = String::from_utf8(bytes).map_err(|_| self.problem(start, "the string is not UTF-8"))?;
        Ok(Token::Text(text.replace("\r\n", "\n").replace('\r', "\n")))
    }

    fn push_char(&mut self, bytes: &mut Vec<u8>) {
        if let Some(c) = self.peek() {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            self.at += c.len_utf8();
        }
    }

    fn escape(&mut self, is_bytes: bool, bytes: &mut Vec<u8>) -> Result<(), Problem> {
        let start = self.at;
        self.at += 1;
        let Some(letter) = self.peek() else { return Err(self.problem(start, "nothing follows the backslash")) };
        self.at += letter.len_utf8();
        let simple = match letter {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' | '?' | '"' | '\'' | '`' => letter as u8,
            _ => 0,
        };
        if simple != 0 {
            bytes.push(simple);
            return Ok(());
        }
        let (digits, radix) = match letter {
            'x' | 'X' => (2, 16),
            'u' if !is_bytes => (4, 16),
            'U' if !is_bytes => (8, 16),
            '0'..='3' => {
                self.at -= 1;
                (3, 8)
            }
            _ => return Err(self.problem(start, format!("\\{letter} is no escape; a backslash is written \\\\"))),
        };
        let code = self.rest().get(..digits).and_then(|digits| u32::from_str_radix(digits, radix).ok());
        let code = code.filter(|_| !self.rest().starts_with('+'));
        let Some(code) = code else {
            return Err(self.problem(start, format!("\\{letter} needs {digits} digits of base {radix}")));
        };
        self.at += digits;
        if is_bytes {
            bytes.push(code as u8);
            return Ok(());
        }
        let Some(c) = char::from_u32(code) else {
            return Err(self.problem(start, format!("there is no character {code:x}")));
        };
        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }
}

/// Whether these letters may stand before the quote of a string.
fn is_prefix(letters: &str) -> bool {
    letters.len() <= 2 && matches!(letters.to_ascii_lowercase().as_str(), "" | "r" | "b" | "br")
}
