//! Reads the fields of a document and says of each problem where it is.

use serde_json::{Map, Value};

use crate::nearest::nearest;

/// Problems that were found, each with its place.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

/// An object and what it is called in messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    place: &'a str,
}

// === impl Problems ===

impl Problems {
    pub(crate) fn add(&mut self, place: &str, message: impl std::fmt::Display) {
        self.0.push(if place.is_empty() { message.to_string() } else { format!("{place}: {message}") });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, a line each.
    pub(crate) fn message(&self) -> String {
        self.0.join("\n")
    }
}

/// `place.name`, or the name alone at the root.
pub(crate) fn place(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// What a JSON value is called.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// `value` as an object that has no fields but `known`.
    pub(crate) fn of(value: &'a Value, place: &'a str, known: &[&str], problems: &mut Problems) -> Option<Self> {
        let Value::Object(object) = value else {
            problems.add(place, format!("it is {}, not a map", kind(value)));
            return None;
        };
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            let hint = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", known.join(", ")),
            };
            problems.add(place, format!("there is no field {name}; {hint}"));
        }
        Some(Self { object, place })
    }

    pub(crate) fn place(&self, name: &str) -> String {
        place(self.place, name)
    }

    /// The field, where it is there and not null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        let value = self.get(name)?;
        if value.as_str().is_none() {
            problems.add(&self.place(name), format!("it is {}, not a string", kind(value)));
        }
        value.as_str()
    }

    /// A string that has to be there and not empty.
    pub(crate) fn needed(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        let text = self.text(name, problems).filter(|text| !text.is_empty());
        if text.is_none() && self.get(name).is_none_or(|value| value == "") {
            problems.add(self.place, format!("it needs a {name}"));
        }
        text
    }

    /// The elements of a list with the place of each.
    pub(crate) fn list(&self, name: &str, problems: &mut Problems) -> Vec<(String, &'a Value)> {
        match self.get(name) {
            None => Vec::new(),
            Some(Value::Array(list)) => {
                list.iter().enumerate().map(|(at, value)| (format!("{}[{at}]", self.place(name)), value)).collect()
            }
            Some(other) => {
                problems.add(&self.place(name), format!("it is {}, not a list", kind(other)));
                Vec::new()
            }
        }
    }

    /// One of `known`.
    pub(crate) fn one_of<T: Copy>(&self, name: &str, known: &[(&str, T)], problems: &mut Problems) -> Option<T> {
        let text = self.text(name, problems)?;
        let found = known.iter().find(|(known, _)| *known == text).map(|(_, value)| *value);
        if found.is_none() {
            let names = known.iter().map(|(name, _)| *name);
            let hint = match nearest(text, names.clone()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
            };
            problems.add(&self.place(name), format!("{text} is none; {hint}"));
        }
        found
    }
}
