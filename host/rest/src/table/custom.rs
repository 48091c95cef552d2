//! Custom resources, by the columns of their definition.

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::Value;

use super::age;
use super::cells::Cells;
use super::column::{CREATED, Column, NAME};
use super::json::{Unreadable, read};
use super::jsonpath::JsonPath;

/// Where a column's cells come from.
#[derive(Clone, Debug)]
pub(super) struct CustomColumn {
    kind: Kind,
    path: JsonPath,
}

/// What a column's cells are.
#[derive(Clone, Copy, Debug)]
enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Date,
    /// One that upstream has no values for.
    Other,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Definition {
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Version {
    name: String,
    additional_printer_columns: Vec<PrinterColumn>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct PrinterColumn {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    format: String,
    description: String,
    priority: i32,
    #[serde(rename = "jsonPath")]
    json_path: String,
}

/// The columns that the CustomResourceDefinition in `crd` (JSON) gives its `version`: NAME and its own, or AGE where it has
/// none. As upstream, they end before the first whose path cannot be read.
pub(super) fn columns(crd: &[u8], version: &str) -> (Vec<Column>, Vec<CustomColumn>) {
    let definition: Definition = read(crd).unwrap_or_default();
    let of_version = definition.spec.versions.iter().find(|served| served.name == version);
    let mut given = of_version.map(|served| served.additional_printer_columns.clone()).unwrap_or_default();
    if given.is_empty() {
        given.push(PrinterColumn::age());
    }
    let (mut columns, mut custom) = (vec![NAME], Vec::new());
    for column in given {
        let Ok(path) = JsonPath::parse(&column.json_path) else { break };
        custom.push(CustomColumn { kind: Kind::named(&column.kind), path });
        columns.push(column.definition());
    }
    (columns, custom)
}

pub(super) fn cells(columns: &[CustomColumn], body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let object: Value = serde_json::from_slice(body).map_err(serde::de::Error::custom)?;
    cells.text(object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default());
    for column in columns {
        let cell = column.path.first(&object).map_or(Value::Null, |value| column.kind.cell(value, cells.now()));
        cells.json(&cell);
    }
    Ok(())
}

// === impl PrinterColumn ===

impl PrinterColumn {
    fn age() -> Self {
        let (name, kind, json_path) = ("Age".into(), "date".into(), ".metadata.creationTimestamp".into());
        Self { name, kind, json_path, description: CREATED.into(), ..Self::default() }
    }

    fn definition(self) -> Column {
        let description = match self.description {
            text if text.is_empty() => format!("The value at {}.", self.json_path),
            text => text,
        };
        Column {
            name: self.name.into(),
            kind: self.kind.into(),
            format: self.format.into(),
            description: description.into(),
            priority: self.priority,
        }
    }
}

// === impl Kind ===

impl Kind {
    fn named(name: &str) -> Self {
        match name {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            _ => Self::Other,
        }
    }

    /// The cell that shows `value`; null where it is not of this kind.
    fn cell(self, value: &Value, now: SystemTime) -> Value {
        match (self, value) {
            (Self::String, Value::String(text)) => Value::from(text.as_str()),
            (Self::String, Value::Null) => Value::from("<no value>"),
            (Self::String, Value::Number(number)) => Value::from(plain(number)),
            (Self::String, other) => Value::from(go_json(other)),
            (Self::Integer, Value::Number(number)) => integer(number).into(),
            (Self::Number, Value::Number(_)) | (Self::Boolean, Value::Bool(_)) => value.clone(),
            (Self::Date, Value::String(text)) => date(text, now).into(),
            _ => Value::Null,
        }
    }
}

/// A number as Go prints it (fmt, %v): with an exponent of at least two digits where that is below -4 or from 6 on.
fn plain(number: &serde_json::Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or_default() {
        -4..6 => float.to_string(),
        exponent if exponent < 0 => format!("{mantissa}e-{:02}", exponent.unsigned_abs()),
        exponent => format!("{mantissa}e+{exponent:02}"),
    }
}

/// JSON as Go writes it: what HTML could take for its own is escaped. Such characters stand in strings only.
fn go_json(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            c => text.push(c),
        }
    }
    text
}

/// What is behind the point is cut off.
fn integer(number: &serde_json::Number) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "a number out of range becomes the nearest in range")]
    number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))
}

fn date(text: &str, now: SystemTime) -> String {
    let is_time = text.is_empty() || text == "null" || age::is_time(text);
    if is_time { age::since(text, now) } else { "<invalid>".to_owned() }
}
