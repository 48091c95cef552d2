//! From text to steps.

use serde_json::Value;

use super::{Comparison, Filter, JsonPath, Operand, Step, Unrecognized};

/// The path in `text`, with or without braces around it.
pub(super) fn path(text: &str) -> Result<JsonPath, Unrecognized> {
    let text = text.trim();
    let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let mut rest = text.strip_prefix(['$', '@']).unwrap_or(text);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        rest = step(rest, &mut steps)?;
    }
    Ok(JsonPath(steps))
}

/// Reads one step; returns what is left.
fn step<'t>(text: &'t str, steps: &mut Vec<Step>) -> Result<&'t str, Unrecognized> {
    if let Some(after) = text.strip_prefix('[') {
        let (inside, rest) = bracketed(after)?;
        steps.push(bracket(inside)?);
        return Ok(rest);
    }
    let after = match text.strip_prefix("..") {
        Some(after) => {
            steps.push(Step::Descend);
            after
        }
        None => text.strip_prefix('.').ok_or(Unrecognized)?,
    };
    if let Some(rest) = after.strip_prefix('*') {
        steps.push(Step::Wildcard);
        return Ok(rest);
    }
    let (name, rest) = field(after);
    // A lone dot is the value itself.
    if !name.is_empty() {
        steps.push(Step::Field(name));
    }
    if rest.starts_with(['.', '[']) || rest.is_empty() { Ok(rest) } else { Err(Unrecognized) }
}

/// A field's name up to what can follow it; a backslash takes the next character as it is.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
            '.' | '[' | ']' | ' ' | '|' | ',' | '{' | '}' => return (name, &text[at..]),
            _ => name.push(c),
        }
    }
    (name, "")
}

/// What stands up to the bracket that closes, and what comes after; brackets in quotes do not count.
fn bracketed(text: &str) -> Result<(&str, &str), Unrecognized> {
    let (mut depth, mut quote) = (1, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
        if depth == 0 {
            return Ok((&text[..at], &text[at + 1..]));
        }
    }
    Err(Unrecognized)
}

fn bracket(inside: &str) -> Result<Step, Unrecognized> {
    let inside = inside.trim();
    if inside == "*" {
        return Ok(Step::Wildcard);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|inside| inside.strip_suffix(')')) {
        return filter_of(filter).map(Step::Filter);
    }
    let parts = split_outside_quotes(inside);
    match parts.as_slice() {
        [one] => one_of(one),
        many => many.iter().map(|one| one_of(one)).collect::<Result<_, _>>().map(Step::Union),
    }
}

fn split_outside_quotes(text: &str) -> Vec<&str> {
    let mut quote = None;
    text.split(|c| {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            _ => {}
        }
        quote.is_none() && c == ','
    })
    .collect()
}

/// `'name'`, an index or a slice.
fn one_of(text: &str) -> Result<Step, Unrecognized> {
    let text = text.trim();
    if let Some(name) = unquoted(text) {
        return Ok(Step::Field(name.to_owned()));
    }
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| Unrecognized),
    };
    match text.split_once(':') {
        Some((from, to)) => Ok(Step::Slice(number(from)?, number(to)?)),
        // The end of [-1] is that of the list.
        None => match number(text)?.ok_or(Unrecognized)? {
            -1 => Ok(Step::Slice(Some(-1), None)),
            index => Ok(Step::Slice(Some(index), Some(index + 1))),
        },
    }
}

fn filter_of(text: &str) -> Result<Filter, Unrecognized> {
    let operators = [
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            _ => {}
        }
        let found = operators.iter().find(|(operator, _)| quote.is_none() && text[at..].starts_with(operator));
        if let Some((operator, comparison)) = found {
            let right = operand(&text[at + operator.len()..])?;
            return Ok(Filter { left: operand(&text[..at])?, right: Some((*comparison, right)) });
        }
    }
    Ok(Filter { left: operand(text)?, right: None })
}

fn operand(text: &str) -> Result<Operand, Unrecognized> {
    let text = text.trim();
    if text.starts_with('@') {
        return path(text).map(Operand::Path);
    }
    match unquoted(text) {
        Some(literal) => Ok(Operand::Literal(Value::from(literal))),
        None => serde_json::from_str::<Value>(text).map(Operand::Literal).map_err(|_| Unrecognized),
    }
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}
