//! How numbers and times are written in the documents.

/// A marker as a decimal string.
pub(super) mod marker {
    use std::borrow::Cow;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(marker: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(marker)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format_args!("{text:?} is no marker; markers are decimal numbers")))
    }
}

/// A time as RFC 3339 in UTC.
pub(super) mod time {
    use std::borrow::Cow;
    use std::time::SystemTime;

    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};
    use time::OffsetDateTime;
    use time::format_description::well_known::Rfc3339;

    pub(crate) fn serialize<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(time) = time else { return serializer.serialize_none() };
        let text = OffsetDateTime::from(*time).format(&Rfc3339).map_err(S::Error::custom)?;
        serializer.serialize_some(&text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
        let Some(text) = Option::<Cow<'_, str>>::deserialize(deserializer)? else { return Ok(None) };
        OffsetDateTime::parse(&text, &Rfc3339).map(|time| Some(time.into())).map_err(D::Error::custom)
    }
}
