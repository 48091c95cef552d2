//! Kubernetes' dialect of regular expressions, which is that of Go's `regexp/syntax` with Perl's flags (RE2's), in the words of
//! the `regex` crate.
//!
//! In it `\d`, `\w`, `\s` and `\b` are about ASCII alone, `\Q…\E` quotes, `\101` is octal, a brace that begins no count and a
//! bracket or `&&` within a class are what they look like, and a repetition is not repeated.

use std::iter::Peekable;
use std::str::Chars;

/// The most that a count may be.
const MAX_COUNT: u32 = 1000;

/// The pattern for the crate. What the crate refuses as well is left to it.
pub(super) fn translated(pattern: &str) -> Result<String, String> {
    let mut dialect = Dialect { rest: pattern.chars().peekable(), out: String::new() };
    let mut is_repeated = false;
    while let Some(c) = dialect.rest.next() {
        is_repeated = match c {
            '*' | '+' | '?' => dialect.repeat(&c.to_string(), is_repeated)?,
            '{' => match dialect.count()? {
                Some(count) => dialect.repeat(&count, is_repeated)?,
                None => dialect.literal('{'),
            },
            '\\' => dialect.escape()?,
            '[' => dialect.class()?,
            '(' => dialect.group()?,
            '.' | '^' | '$' | '|' | ')' => dialect.push(&c.to_string()),
            c => dialect.literal(c),
        };
    }
    Ok(dialect.out)
}

struct Dialect<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

// === impl Dialect ===

impl Dialect<'_> {
    /// Gives whether a repetition was pushed: none.
    fn push(&mut self, text: &str) -> bool {
        self.out.push_str(text);
        false
    }

    fn literal(&mut self, c: char) -> bool {
        let text =
            if c.is_ascii_alphanumeric() || !c.is_ascii() { c.to_string() } else { format!("\\x{{{:x}}}", c as u32) };
        self.push(&text)
    }

    fn takes(&mut self, c: char) -> bool {
        self.rest.next_if_eq(&c).is_some()
    }

    fn repeat(&mut self, sign: &str, is_repeated: bool) -> Result<bool, String> {
        if is_repeated {
            return Err(format!("{sign} repeats what is repeated already"));
        }
        self.push(sign);
        if self.takes('?') {
            self.push("?");
        }
        Ok(true)
    }

    /// `{2}`, `{2,}` or `{2,3}`, where this is what follows the brace.
    fn count(&mut self) -> Result<Option<String>, String> {
        let text: String = self.rest.clone().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
        let (least, most) = text.split_once(',').unwrap_or((&text, &text));
        let is_closed = self.rest.clone().nth(text.len()) == Some('}');
        if !is_closed || least.is_empty() || most.contains(',') {
            return Ok(None);
        }
        let number = |text: &str| text.parse().ok().filter(|count| *count <= MAX_COUNT);
        let wrong = || format!("{{{text}}} is no count: up to {MAX_COUNT}, the smaller first");
        let least: u32 = number(least).ok_or_else(wrong)?;
        if !most.is_empty() && number(most).is_none_or(|most| most < least) {
            return Err(wrong());
        }
        self.rest.nth(text.len());
        Ok(Some(format!("{{{text}}}")))
    }

    fn escape(&mut self) -> Result<bool, String> {
        match self.rest.peek() {
            Some('Q') => {
                self.rest.next();
                self.quoted();
                Ok(false)
            }
            Some('A' | 'z') => {
                let c = self.rest.next().unwrap_or_default();
                Ok(self.push(&format!("\\{c}")))
            }
            Some('b' | 'B') => {
                let c = self.rest.next().unwrap_or_default();
                Ok(self.push(&format!("(?-u:\\{c})")))
            }
            _ => match self.set()? {
                Some(set) => Ok(self.push(&set)),
                None => self.character().map(|c| self.literal(c)),
            },
        }
    }

    /// All up to `\E` stands for itself.
    fn quoted(&mut self) {
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.takes('E') {
                return;
            }
            self.literal(c);
        }
    }

    /// The set of characters that an escape stands for, where it is one. It is right within a class, too.
    fn set(&mut self) -> Result<Option<String>, String> {
        let set = match self.rest.peek() {
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            Some('s') => "[\\t\\n\\f\\r\\x20]",
            Some('S') => "[^\\t\\n\\f\\r\\x20]",
            Some('p' | 'P') => return self.category().map(Some),
            _ => return Ok(None),
        };
        self.rest.next();
        Ok(Some(set.to_owned()))
    }

    /// `\pL`, `\p{Lu}` or `\p{^Lu}`.
    fn category(&mut self) -> Result<String, String> {
        let mut is_without = self.rest.next() == Some('P');
        let end = || "the name of a category has no end".to_owned();
        let mut name = String::new();
        match self.rest.next().ok_or_else(end)? {
            '{' => loop {
                match self.rest.next().ok_or_else(end)? {
                    '}' => break,
                    c => name.push(c),
                }
            },
            c => name.push(c),
        }
        if let Some(rest) = name.strip_prefix('^') {
            is_without = !is_without;
            name = rest.to_owned();
        }
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("there is no category {name}"));
        }
        Ok(format!("\\{}{{{name}}}", if is_without { 'P' } else { 'p' }))
    }

    /// The character that an escape stands for.
    fn character(&mut self) -> Result<char, String> {
        let c = self.rest.next().ok_or("nothing follows the last backslash")?;
        let unknown = || format!("there is no escape \\{c}");
        match c {
            'a' => Ok('\u{7}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            'x' => self.hexadecimal().ok_or_else(unknown),
            // One digit alone would refer to a group.
            '1'..='7' if !self.rest.peek().is_some_and(|next| next.is_digit(8)) => Err(unknown()),
            '0'..='7' => {
                let mut code = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.rest.next_if(|next| next.is_digit(8)) else { break };
                    code = code * 8 + digit.to_digit(8).unwrap_or_default();
                }
                char::from_u32(code).ok_or_else(unknown)
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(c),
            _ => Err(unknown()),
        }
    }

    /// `41` or `{1f600}` after `\x`.
    fn hexadecimal(&mut self) -> Option<char> {
        let mut digits = String::new();
        if self.takes('{') {
            loop {
                match self.rest.next()? {
                    '}' => break,
                    c if c.is_ascii_hexdigit() => digits.push(c),
                    _ => return None,
                }
            }
        } else {
            digits.extend([self.rest.next()?, self.rest.next()?]);
        }
        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
    }

    /// What begins with a parenthesis: of what follows `?` only names and the flags `i`, `m`, `s` and `U` are known.
    fn group(&mut self) -> Result<bool, String> {
        self.push("(");
        if !self.takes('?') {
            return Ok(false);
        }
        self.push("?");
        while let Some(c) = self.rest.next() {
            self.out.push(c);
            match c {
                ':' | ')' => return Ok(false),
                'i' | 'm' | 's' | 'U' | '-' => {}
                '<' => return Ok(self.group_name()),
                'P' if self.takes('<') => {
                    self.push("<");
                    return Ok(self.group_name());
                }
                _ => break,
            }
        }
        Err("after (? there is a name, as (?P<name>…), or some of the flags i, m, s and U".to_owned())
    }

    fn group_name(&mut self) -> bool {
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            self.out.push(c);
        }
        if self.takes('>') { self.push(">") } else { false }
    }

    fn class(&mut self) -> Result<bool, String> {
        self.push("[");
        if self.takes('^') {
            self.push("^");
        }
        let mut is_first = true;
        while is_first || self.rest.peek() != Some(&']') {
            is_first = false;
            if let Some(named) = self.named_class() {
                self.push(&named);
                continue;
            }
            if self.takes('\\') {
                match self.set()? {
                    Some(set) => drop(self.push(&set)),
                    None => self.character().and_then(|c| self.range(c))?,
                }
                continue;
            }
            let c = self.rest.next().ok_or("a class has no end")?;
            self.range(c)?;
        }
        self.rest.next();
        Ok(self.push("]"))
    }

    /// `[:alpha:]`.
    fn named_class(&mut self) -> Option<String> {
        let text: String = self.rest.clone().collect();
        let name = text.strip_prefix("[:")?.split_once(":]")?.0;
        self.rest.nth(name.chars().count() + 3);
        Some(format!("[:{name}:]"))
    }

    /// A character of a class, or a range that begins with it.
    fn range(&mut self, from: char) -> Result<(), String> {
        self.literal(from);
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']')) {
            return Ok(());
        }
        self.rest.next();
        let to = if self.takes('\\') { self.character()? } else { self.rest.next().unwrap_or_default() };
        if to < from {
            return Err(format!("{from}-{to} is no range"));
        }
        self.push("-");
        self.literal(to);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_in_both_stays_and_what_is_not_is_written_otherwise() {
        for (pattern, wanted) in [
            ("^a.c$|(b)*?", "^a.c$|(b)*?"),
            ("a{2,3}b{2,}c{2}", "a{2,3}b{2,}c{2}"),
            ("a{,2}{", "a\\x{7b}\\x{2c}2\\x{7d}\\x{7b}"),
            ("\\d\\b", "[0-9](?-u:\\b)"),
            ("[^\\w-z]", "[^[0-9A-Za-z_]\\x{2d}z]"),
            ("[]a&&b[c]", "[\\x{5d}a\\x{26}\\x{26}b\\x{5b}c]"),
            ("[[:alpha:]0-9]", "[[:alpha:]0-9]"),
            ("\\Qa.\\E+", "a\\x{2e}+"),
            ("\\101\\x41\\x{e9}\\p{^Lu}", "AAé\\P{Lu}"),
            ("(?i)a(?P<n>b)(?:c)", "(?i)a(?P<n>b)(?:c)"),
        ] {
            assert_eq!(translated(pattern), Ok(wanted.to_owned()), "{pattern}");
        }
        for wrong in
            ["a**", "a{2}{3}", "a{2,1}", "a{1001}", "(?x)a", "(?=a)", "\\1", "\\y", "\\", "[a", "[b-a]", "\\p{L"]
        {
            assert!(translated(wrong).is_err(), "{wrong}");
        }
    }
}
