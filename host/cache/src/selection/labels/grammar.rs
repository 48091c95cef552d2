//! The grammar of label selectors and its errors, as the API server has them.

use std::collections::BTreeSet;

use super::{Relation, Requirement, Spelling};
use crate::selection::names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Identifier,
    Comma,
    Open,
    Close,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    In,
    NotIn,
    End,
}

struct Parser {
    /// Never empty: the last is `End`.
    items: Vec<(Token, String)>,
    at: usize,
}

type Result<T> = std::result::Result<T, String>;

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>> {
    let mut parser = Parser { items: lex(text), at: 0 };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            (Token::Identifier | Token::Not, _) => {
                let requirement = parser.requirement();
                requirements.push(requirement.map_err(|error| format!("unable to parse requirement: {error}"))?);
                match parser.take() {
                    (Token::End, _) => return Ok(requirements),
                    (Token::Comma, _) => parser.expect_requirement()?,
                    (_, found) => return Err(format!("found '{found}', expected: ',' or 'end of string'")),
                }
            }
            (Token::End, _) => return Ok(requirements),
            (_, found) => return Err(format!("found '{found}', expected: !, identifier, or 'end of string'")),
        }
    }
}

// === impl Parser ===

impl Parser {
    /// The next token, where `in` and `notin` are words like others.
    fn peek(&self) -> (Token, &str) {
        let (token, text) = &self.items[self.at.min(self.items.len() - 1)];
        let token = if matches!(token, Token::In | Token::NotIn) { Token::Identifier } else { *token };
        (token, text)
    }

    fn take(&mut self) -> (Token, String) {
        let (token, text) = self.peek();
        let taken = (token, text.to_owned());
        self.at += 1;
        taken
    }

    /// The next token, where `in` and `notin` are operators.
    fn take_operator(&mut self) -> (Token, String) {
        let taken = self.items[self.at.min(self.items.len() - 1)].clone();
        self.at += 1;
        taken
    }

    fn expect_requirement(&self) -> Result<()> {
        match self.peek() {
            (Token::Identifier | Token::Not, _) => Ok(()),
            (_, found) => Err(format!("found '{found}', expected: identifier after ','")),
        }
    }

    fn requirement(&mut self) -> Result<Requirement> {
        let (mut token, mut key) = self.take();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.take();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        names::check_key(&key).map_err(|error| format!("<nil>: {error}"))?;
        let ends = matches!(self.peek().0, Token::End | Token::Comma);
        let relation = match (negated, ends) {
            (true, _) => Relation::DoesNotExist,
            (false, true) => Relation::Exists,
            (false, false) => self.relation(&key)?,
        };
        Ok(Requirement { key, relation })
    }

    fn relation(&mut self, key: &str) -> Result<Relation> {
        let (operator, found) = self.take_operator();
        let (values, spelling) = match operator {
            Token::In | Token::NotIn => (self.values()?, Spelling::Set),
            Token::DoubleEquals => (self.exact_value()?, Spelling::DoubleSign),
            Token::Equals | Token::NotEquals | Token::Greater | Token::Less => (self.exact_value()?, Spelling::Sign),
            _ => return Err(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        check_values(key, &values, matches!(operator, Token::Greater | Token::Less))?;
        let number = || values.first().and_then(|value| value.parse().ok()).unwrap_or_default();
        Ok(match operator {
            Token::NotIn | Token::NotEquals => Relation::NotIn(values, spelling),
            Token::Greater => Relation::Above(number()),
            Token::Less => Relation::Below(number()),
            _ => Relation::In(values, spelling),
        })
    }

    fn exact_value(&mut self) -> Result<Vec<String>> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(vec![String::new()]);
        }
        match self.take() {
            (Token::Identifier, value) => Ok(vec![value]),
            (_, found) => Err(format!("found '{found}', expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<Vec<String>> {
        if let (token, found) = self.take()
            && token != Token::Open
        {
            return Err(format!("found '{found}' expected: '('"));
        }
        match self.peek() {
            (Token::Close, _) => {
                self.take();
                Ok(vec![String::new()])
            }
            (Token::Identifier | Token::Comma, _) => {
                let values = self.value_list()?;
                self.take();
                Ok(values.into_iter().collect())
            }
            (_, found) => Err(format!("found '{found}', expected: ',', ')' or identifier")),
        }
    }

    /// Values up to the closing parenthesis, which is left. Empty ones count: `(,a)`, `(a,)`, `(a,,b)`.
    fn value_list(&mut self) -> Result<BTreeSet<String>> {
        let mut values = BTreeSet::new();
        loop {
            match self.take() {
                (Token::Identifier, value) => {
                    values.insert(value);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(values),
                        (_, found) => return Err(format!("found '{found}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
                            self.take();
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, found) => return Err(format!("found '{found}', expected: ',', or identifier")),
            }
        }
    }
}

/// Whether `values` can be values of the label `key`; all that is wrong with them, as the API server lists it.
fn check_values(key: &str, values: &[String], as_number: bool) -> Result<()> {
    let not_a_number = |index: usize, value: &str| {
        format!("values[{index}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
    };
    let mut errors = Vec::new();
    if as_number {
        let wrong = values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err());
        errors.extend(wrong.map(|(index, value)| not_a_number(index, value)));
    }
    for (index, value) in values.iter().enumerate() {
        if let Err(error) = names::check_value(value) {
            errors.push(format!("values[{index}][{key}]: {error}"));
        }
    }
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.concat()),
        _ => Err(format!("[{}]", errors.join(", "))),
    }
}

fn lex(text: &str) -> Vec<(Token, String)> {
    let bytes = text.as_bytes();
    let mut items = Vec::new();
    let mut at = 0;
    // As in the API server, a zero byte ends the selector.
    while at < bytes.len() && bytes[at] != 0 {
        let (token, length) = if is_space(bytes[at]) {
            (None, 1)
        } else if let Some((token, length)) = sign(&bytes[at..]) {
            (Some(token), length)
        } else {
            let is_word = |at: usize| !is_space(bytes[at]) && bytes[at] != 0 && sign(&bytes[at..]).is_none();
            let end = (at..bytes.len()).find(|&at| !is_word(at)).unwrap_or(bytes.len());
            (Some(word_token(&text[at..end])), end - at)
        };
        items.extend(token.map(|token| (token, text[at..at + length].to_owned())));
        at += length;
    }
    items.push((Token::End, String::new()));
    items
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn word_token(word: &str) -> Token {
    match word {
        "in" => Token::In,
        "notin" => Token::NotIn,
        _ => Token::Identifier,
    }
}

/// The longest sign at the start of `bytes`, and its length.
fn sign(bytes: &[u8]) -> Option<(Token, usize)> {
    Some(match bytes {
        [b'=', b'=', ..] => (Token::DoubleEquals, 2),
        [b'!', b'=', ..] => (Token::NotEquals, 2),
        [b'=', ..] => (Token::Equals, 1),
        [b'!', ..] => (Token::Not, 1),
        [b'(', ..] => (Token::Open, 1),
        [b')', ..] => (Token::Close, 1),
        [b',', ..] => (Token::Comma, 1),
        [b'>', ..] => (Token::Greater, 1),
        [b'<', ..] => (Token::Less, 1),
        _ => return None,
    })
}
