use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::labels::{LabelError, check_key, check_value};

/// What keeps objects off a cluster unless they tolerate it, as a node's taint does pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// A label's key.
    pub key: String,
    /// A label's value; may be empty.
    pub value: String,
    /// How much it keeps off.
    pub effect: TaintEffect,
}

/// How much a taint keeps off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TaintEffect {
    /// Nothing new.
    NoSchedule,
    /// Nothing new where there is another place.
    PreferNoSchedule,
    /// Nothing new; what is there already is not touched by the host.
    NoExecute,
}

/// One toleration of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    /// The taints' key; empty for all of them.
    pub key: String,
    /// How their value is compared: empty or `Equal`, `Exists`, `Lt`, `Gt`.
    pub operator: String,
    /// What it is compared with.
    pub value: String,
    /// Their effect; empty for all of them.
    pub effect: String,
}

/// Why a text is no taint.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseTaintError {
    /// It is written otherwise.
    #[error("{0:?} is no taint; write KEY=VALUE:EFFECT or KEY:EFFECT, as orrery.dev/maintenance=true:NoSchedule")]
    Form(String),
    /// Its effect is none.
    #[error("{0:?} is no effect of a taint; write NoSchedule, PreferNoSchedule or NoExecute")]
    Effect(String),
    /// Its key or value cannot be a label's.
    #[error(transparent)]
    Label(#[from] LabelError),
}

/// As it stands in YAML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    key: String,
    #[serde(default)]
    value: String,
    effect: TaintEffect,
}

// === impl Taint ===

impl FromStr for Taint {
    type Err = ParseTaintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (label, effect) = text.rsplit_once(':').ok_or_else(|| ParseTaintError::Form(text.to_owned()))?;
        let (key, value) = label.split_once('=').unwrap_or((label, ""));
        let effect = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute]
            .into_iter()
            .find(|known| known.as_str() == effect)
            .ok_or_else(|| ParseTaintError::Effect(effect.to_owned()))?;
        check_key(key)?;
        check_value(value)?;
        Ok(Self { key: key.to_owned(), value: value.to_owned(), effect })
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        write!(f, ":{}", self.effect.as_str())
    }
}

impl<'de> Deserialize<'de> for Taint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { key, value, effect } = Written::deserialize(deserializer)?;
        check_key(&key).and_then(|()| check_value(&value)).map_err(serde::de::Error::custom)?;
        Ok(Self { key, value, effect })
    }
}

// === impl TaintEffect ===

impl TaintEffect {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

// === impl Toleration ===

impl Toleration {
    /// Whether it tolerates `taint` (upstream's `ToleratesTaint`, api core/v1/toleration.go). An operator that is not known
    /// tolerates nothing.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        if !self.effect.is_empty() && self.effect != taint.effect.as_str() {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        let numbers = || Some((decimal(&taint.value)?, decimal(&self.value)?));
        match self.operator.as_str() {
            "" | "Equal" => self.value == taint.value,
            "Exists" => true,
            "Lt" => numbers().is_some_and(|(of_taint, own)| of_taint < own),
            "Gt" => numbers().is_some_and(|(of_taint, own)| of_taint > own),
            _ => false,
        }
    }
}

/// A decimal integer without sign of plus or leading zeros (KEP-5471).
fn decimal(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.starts_with('+') && (digits == "0" || !digits.starts_with('0')) && text != "-0";
    text.parse().ok().filter(|_| is_plain)
}

/// What `list` of a pod's spec tolerates.
pub(super) fn read_tolerations(list: &Value) -> Vec<Toleration> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let read = |entry: &Value| Toleration {
        key: text(entry, "key"),
        operator: text(entry, "operator"),
        value: text(entry, "value"),
        effect: text(entry, "effect"),
    };
    list.as_array().into_iter().flatten().map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn taint(text: &str) -> Taint {
        text.parse().unwrap()
    }

    #[test]
    fn a_taint_is_read_back_from_what_it_prints() {
        for text in ["orrery.dev/maintenance=true:NoSchedule", "gpu:PreferNoSchedule", "a.b/c=d:NoExecute"] {
            assert_eq!(taint(text).to_string(), text);
        }
        let form = |text: &str| text.parse::<Taint>().unwrap_err().to_string();
        assert!(form("a=b").contains("write KEY=VALUE:EFFECT"));
        assert!(form("a=b:Never").contains("write NoSchedule, PreferNoSchedule or NoExecute"));
        assert!(form("=b:NoSchedule").contains("label key"));
        assert!(form("a=b c:NoSchedule").contains("label value"));
    }

    #[test]
    fn tolerations_are_matched_as_upstream_matches_them() {
        let tolerates = |toleration: Value, text: &str| {
            read_tolerations(&json!([toleration])).iter().any(|toleration| toleration.tolerates(&taint(text)))
        };
        let key = json!({"key": "k", "value": "v", "effect": "NoSchedule"});
        assert!(tolerates(key.clone(), "k=v:NoSchedule"));
        assert!(!tolerates(key.clone(), "k=w:NoSchedule"));
        assert!(!tolerates(key.clone(), "l=v:NoSchedule"));
        assert!(!tolerates(key, "k=v:NoExecute"));
        assert!(tolerates(json!({"key": "k", "operator": "Exists"}), "k=v:NoExecute"));
        assert!(tolerates(json!({"operator": "Exists"}), "any=thing:NoSchedule"));
        assert!(!tolerates(json!({"key": "k", "operator": "In"}), "k:NoSchedule"));
        assert!(!tolerates(json!({}), "k=v:NoSchedule"));
    }

    #[test]
    fn numbers_are_compared_only_where_both_are() {
        let tolerates = |operator: &str, of_taint: &str, own: &str| {
            let toleration = Toleration { operator: operator.into(), value: own.into(), ..Toleration::default() };
            toleration.tolerates(&Taint { key: "k".into(), value: of_taint.into(), effect: TaintEffect::NoSchedule })
        };
        assert!(tolerates("Gt", "950", "900") && !tolerates("Gt", "900", "900"));
        assert!(tolerates("Lt", "-1", "0") && !tolerates("Lt", "1", "0"));
        for (of_taint, own) in [("x", "0"), ("1", "x"), ("01", "9"), ("+1", "9"), ("-0", "9"), ("", "9")] {
            assert!(!tolerates("Lt", of_taint, own), "{of_taint:?} {own:?}");
        }
    }
}
