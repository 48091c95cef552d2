//! The JSONPath that a CRD's columns are written in (client-go util/jsonpath, one expression without text around it).
//!
//! `.a.b`, `['a']`, `.a\.b`, `[0]`, `[-1]`, `[1:3]`, `[0,2]`, `[*]`, `.*`, `..a`, and filters on fields,
//! `[?(@.type=="Ready")]` with `== != < <= > >=` or none. A column shows the first value that is found.

mod parse;

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

/// A text that is no path of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unrecognized;

/// One step from values to values.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    /// All values below, each before what is in it.
    Descend,
    Slice(Option<i64>, Option<i64>),
    Union(Vec<Step>),
    Filter(Filter),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Operand,
    right: Option<(Comparison, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    /// From the value that is filtered.
    Path(JsonPath),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A step that cannot be taken: an index that is out of bounds or of what is no list, values that do not compare. Upstream
/// then shows nothing at all.
struct Stuck;

// === impl JsonPath ===

impl JsonPath {
    /// The path that `text` spells.
    pub(super) fn parse(text: &str) -> Result<Self, Unrecognized> {
        parse::path(text)
    }

    /// The first value that it leads to from `root`.
    pub(super) fn first<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.all(root).ok()?.into_iter().next()
    }

    fn all<'v>(&self, root: &'v Value) -> Result<Vec<&'v Value>, Stuck> {
        self.0.iter().try_fold(vec![root], |values, step| step.take(&values))
    }
}

// === impl Step ===

impl Step {
    fn take<'v>(&self, values: &[&'v Value]) -> Result<Vec<&'v Value>, Stuck> {
        let mut found = Vec::new();
        for value in values.iter().copied() {
            match self {
                Self::Field(name) => found.extend(value.get(name)),
                Self::Wildcard => found.extend(children(value)),
                Self::Descend => descend(value, &mut found),
                Self::Slice(from, to) => found.extend(slice(value, *from, *to)?),
                Self::Union(steps) => {
                    for step in steps {
                        found.extend(step.take(&[value])?);
                    }
                }
                Self::Filter(filter) => {
                    for item in value.as_array().ok_or(Stuck)? {
                        found.extend(filter.admits(item)?.then_some(item));
                    }
                }
            }
        }
        Ok(found)
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Bodies come from a JSON parser that bounds their depth, so this does too.
fn descend<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    if matches!(value, Value::Array(_) | Value::Object(_)) {
        found.push(value);
        children(value).for_each(|child| descend(child, found));
    }
}

/// Counts from the end where negative, as upstream.
fn slice(value: &Value, from: Option<i64>, to: Option<i64>) -> Result<&[Value], Stuck> {
    if value.is_null() {
        return Ok(&[]);
    }
    let items = value.as_array().ok_or(Stuck)?;
    let len = i64::try_from(items.len()).map_err(|_| Stuck)?;
    let at = |index: i64| if index < 0 { index + len } else { index };
    let (from, to) = (at(from.unwrap_or(0)), at(to.unwrap_or(len)));
    if from == to {
        return Ok(&[]);
    }
    if !(0..len).contains(&from) || from > to {
        return Err(Stuck);
    }
    let (from, to) = (usize::try_from(from).map_err(|_| Stuck)?, usize::try_from(to).map_err(|_| Stuck)?);
    items.get(from..to).ok_or(Stuck)
}

// === impl Filter ===

impl Filter {
    /// An operand without a value admits nothing, and one with several cannot be compared.
    fn admits(&self, item: &Value) -> Result<bool, Stuck> {
        let left = self.left.values(item);
        let Some((comparison, right)) = &self.right else { return Ok(left.map_or(true, |left| !left.is_empty())) };
        match (left?.as_slice(), right.values(item)?.as_slice()) {
            ([], _) | (_, []) => Ok(false),
            ([left], [right]) => comparison.holds(left, right),
            _ => Err(Stuck),
        }
    }
}

// === impl Operand ===

impl Operand {
    fn values<'v>(&'v self, item: &'v Value) -> Result<Vec<&'v Value>, Stuck> {
        match self {
            Self::Path(path) => path.all(item),
            Self::Literal(value) => Ok(vec![value]),
        }
    }
}

// === impl Comparison ===

impl Comparison {
    /// Only values of one kind compare, where 1 and 1.0 are of two, and truths have no order.
    fn holds(self, left: &Value, right: &Value) -> Result<bool, Stuck> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => order(left, right)?,
            (Value::Bool(left), Value::Bool(right)) if matches!(self, Self::Equal | Self::NotEqual) => left.cmp(right),
            _ => return Err(Stuck),
        };
        Ok(match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        })
    }
}

fn order(left: &serde_json::Number, right: &serde_json::Number) -> Result<std::cmp::Ordering, Stuck> {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => Ok(left.cmp(&right)),
        _ => left.as_f64().partial_cmp(&right.as_f64()).ok_or(Stuck),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_to_the_first_value_it_finds() {
        let root = json!({
            "a": {"b": [1, 2, 3], "c.d": "dotted", "e f": "spaced"},
            "conditions": [{"type": "Synced", "status": "x"}, {"type": "Ready", "status": "True", "n": 4}],
        });
        let cases = [
            (".a.b", json!([1, 2, 3])),
            (".a.b[0]", json!(1)),
            (".a.b[-1]", json!(3)),
            (".a.b[1:3]", json!(2)),
            (".a.b[2,0]", json!(3)),
            (".a.b[*]", json!(1)),
            (".a['e f']", json!("spaced")),
            (".a.c\\.d", json!("dotted")),
            ("..type", json!("Synced")),
            (".conditions[?(@.type==\"Ready\")].status", json!("True")),
            (".conditions[?(@.type=='Ready')].n", json!(4)),
            (".conditions[?(@.type!='Synced')].status", json!("True")),
            (".conditions[?(@.n>3)].type", json!("Ready")),
            (".conditions[?(@.n)].type", json!("Ready")),
            ("{.a.b[1]}", json!(2)),
        ];
        for (path, found) in cases {
            let parsed = JsonPath::parse(path).unwrap_or_else(|_| panic!("{path} is refused"));
            assert_eq!(parsed.first(&root), Some(&found), "{path}");
        }
    }

    #[test]
    fn what_is_not_there_is_nothing() {
        let root = json!({"a": {"b": [1]}, "s": "text"});
        for path in [".x", ".a.b[1]", ".a.b[-2]", ".s.t", ".s[0]", ".a[?(@.x)]", ".a.b[?(@.x==1)]", ".a.b[?(@=='1')]"] {
            assert_eq!(JsonPath::parse(path).unwrap().first(&root), None, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in [".a[", ".a[x]", ".a[?(@.b", ".a[?(@.b==)]", ".a['b]", "a b"] {
            assert_eq!(JsonPath::parse(path), Err(Unrecognized), "{path}");
        }
    }
}
