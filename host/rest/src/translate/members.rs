use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON object as its members in their order, one that stands twice too. Values are the bytes that came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members<'a>(Vec<(String, Cow<'a, str>)>);

// === impl Members ===

impl<'a> Members<'a> {
    /// Reads one JSON object.
    pub(crate) fn parse(json: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The first value of `name`, as JSON.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// The first value of `name`, where it is a text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// The first value of `name`, where it is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Members<'static>> {
        Members::parse(self.get(name)?).ok().map(Members::into_owned)
    }

    /// All members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), &**value))
    }

    /// Puts `json` in the place of `name`, or behind all others.
    pub(crate) fn set(&mut self, name: &str, json: String) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, value)) => *value = json.into(),
            None => self.0.push((name.to_owned(), json.into())),
        }
    }

    /// Puts a text there.
    pub(crate) fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, quoted(text));
    }

    /// Takes `name` out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    /// Puts what `edit` makes of it in the place of each value of `name`; `None` leaves it.
    pub(crate) fn edit<E>(
        &mut self,
        name: &str,
        mut edit: impl FnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        for (_, value) in self.0.iter_mut().filter(|(key, _)| key == name) {
            if let Some(edited) = edit(value)? {
                *value = edited.into();
            }
        }
        Ok(())
    }

    /// As [`Self::edit`], of values that are objects.
    pub(crate) fn edit_object<E>(
        &mut self,
        name: &str,
        mut edit: impl FnMut(&mut Members<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.edit(name, |json| {
            let Ok(mut members) = Members::parse(json) else { return Ok(None) };
            let before = members.clone();
            edit(&mut members)?;
            Ok((members != before).then(|| members.to_string()))
        })
    }

    /// As [`Self::edit`], of values that are texts.
    pub(crate) fn edit_text<E>(
        &mut self,
        name: &str,
        mut edit: impl FnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        self.edit(name, |json| {
            let Ok(text) = serde_json::from_str::<String>(json) else { return Ok(None) };
            Ok(edit(&text)?.map(|text| quoted(&text)))
        })
    }

    /// Takes out what `is_out` says of key and value.
    pub(crate) fn take_out<E>(&mut self, mut is_out: impl FnMut(&str, &str) -> Result<bool, E>) -> Result<bool, E> {
        let before = self.0.len();
        let mut kept = Vec::with_capacity(before);
        for (key, value) in self.0.drain(..) {
            if !is_out(&key, &value)? {
                kept.push((key, value));
            }
        }
        self.0 = kept;
        Ok(self.0.len() < before)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn into_owned(self) -> Members<'static> {
        Members(self.0.into_iter().map(|(key, value)| (key, Cow::Owned(value.into_owned()))).collect())
    }
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl fmt::Display for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, (key, value)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}:{value}", quoted(key))?;
        }
        f.write_str("}")
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    members.push((key, Cow::Borrowed(value.get())));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_touched_is_written_as_it_came() {
        let json = r#"{"a":1.0,"b":{ "x" : 1e3 },"a":"\u00e4","":[1,2]}"#;
        assert_eq!(Members::parse(json).unwrap().to_string(), json);
        assert!(Members::parse("[]").is_err() && Members::parse("{").is_err());
    }

    #[test]
    fn a_member_that_stands_twice_is_edited_twice() {
        let mut members = Members::parse(r#"{"a":"x","b":2,"a":"y","a":3}"#).unwrap();
        members.edit_text("a", |text| Ok::<_, ()>(Some(format!("{text}\"")))).unwrap();
        assert_eq!(members.to_string(), r#"{"a":"x\"","b":2,"a":"y\"","a":3}"#);
    }
}
