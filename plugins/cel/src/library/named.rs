//! Named formats: `format.dns1123Label().validate(text)`, as Kubernetes has them.

use cel::common::types::{CelList, CelOptional, CelString, STRING_TYPE, Type};
use cel::common::value::{CowVal, Val};

use super::{Add, Args, Given, arg, opaque, text};

pub(super) static TYPE: Type = Type::new_unspecified_type("formatter");

/// One of [`FORMATS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Formatter(usize);

opaque::value!(Formatter);

/// What is wrong with a text, if something is.
type Validate = fn(&str) -> Option<&'static str>;

const FORMATS: [(&str, &str, Validate); 13] = [
    ("dns1123Label", "format.dns1123Label", dns1123_label),
    ("dns1123Subdomain", "format.dns1123Subdomain", dns1123_subdomain),
    ("dns1035Label", "format.dns1035Label", dns1035_label),
    ("dns1123LabelPrefix", "format.dns1123LabelPrefix", |text| dns1123_label(&prefix(text))),
    ("dns1123SubdomainPrefix", "format.dns1123SubdomainPrefix", |text| dns1123_subdomain(&prefix(text))),
    ("dns1035LabelPrefix", "format.dns1035LabelPrefix", |text| dns1035_label(&prefix(text))),
    ("qualifiedName", "format.qualifiedName", qualified_name),
    ("labelValue", "format.labelValue", label_value),
    ("uri", "format.uri", uri),
    ("uuid", "format.uuid", uuid),
    ("byte", "format.byte", byte),
    ("date", "format.date", date),
    ("datetime", "format.datetime", datetime),
];

pub(super) fn add(add: &mut Add) {
    add.function("format.named", vec![STRING_TYPE], |args| {
        let name = text(&args, 0)?;
        let found = FORMATS.iter().position(|(known, _, _)| *known == name);
        let found = found.map(|at| Box::new(Formatter(at)) as Box<dyn Val>);
        Ok(CowVal::owned(CelOptional::from(found)))
    });
    let made: [cel::common::functions::Function; 13] = [
        |_| of(0),
        |_| of(1),
        |_| of(2),
        |_| of(3),
        |_| of(4),
        |_| of(5),
        |_| of(6),
        |_| of(7),
        |_| of(8),
        |_| of(9),
        |_| of(10),
        |_| of(11),
        |_| of(12),
    ];
    for ((_, function, _), made) in FORMATS.iter().zip(made) {
        add.function(function, vec![], made);
    }
    add.member("validate", TYPE.to_owned(), vec![STRING_TYPE], validate);
}

fn of<'b, 'v>(at: usize) -> Given<'b, 'v> {
    Ok(CowVal::owned(Formatter(at)))
}

/// No optional where the text is right, else a list of what is wrong.
fn validate<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let (_, _, validate) = FORMATS[arg::<Formatter>(&args, 0)?.0];
    let wrong = validate(text(&args, 1)?).map(|wrong| {
        let wrong: Box<dyn Val + 'v> = Box::new(CelString::from(wrong));
        Box::new(CelList::from(vec![wrong])) as Box<dyn Val + 'v>
    });
    Ok(CowVal::owned(CelOptional::from(wrong)))
}

// === impl Formatter ===

impl Formatter {
    pub(super) fn shown(&self) -> String {
        format!("format.{}", FORMATS[self.0].0)
    }
}

/// A prefix of a name may end in a dash: something follows it. As Kubernetes does, the letter before it is not looked at.
fn prefix(text: &str) -> String {
    let shortened = text.strip_suffix('-').and_then(|text| text.char_indices().next_back().map(|(at, _)| &text[..at]));
    shortened.map_or_else(|| text.to_owned(), |text| format!("{text}a"))
}

fn is_lower(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

fn dns1123_label(text: &str) -> Option<&'static str> {
    let is_right = text.len() <= 63 && is_label(text);
    (!is_right).then_some("a DNS-1123 label is up to 63 lower case letters, digits and dashes between them")
}

fn is_label(text: &str) -> bool {
    text.chars().all(|c| is_lower(c) || c == '-') && text.starts_with(is_lower) && text.ends_with(is_lower)
}

fn dns1123_subdomain(text: &str) -> Option<&'static str> {
    let is_right = text.len() <= 253 && text.split('.').all(is_label);
    (!is_right).then_some("a DNS-1123 subdomain is up to 253 characters: labels with dots between them")
}

fn dns1035_label(text: &str) -> Option<&'static str> {
    let is_right = text.len() <= 63 && is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase());
    (!is_right)
        .then_some("a DNS-1035 label begins with a lower case letter; up to 63 letters, digits and dashes between them")
}

fn qualified_name(text: &str) -> Option<&'static str> {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let is_right = crate::policy::is_name(name) && prefix.is_none_or(|prefix| dns1123_subdomain(prefix).is_none());
    (!is_right).then_some(
        "a qualified name is a name of up to 63 characters, with a DNS subdomain and a slash before it or not",
    )
}

fn label_value(text: &str) -> Option<&'static str> {
    let is_right = text.is_empty() || crate::policy::is_name(text);
    (!is_right).then_some("a label's value is empty or up to 63 letters, digits and - . _ between them")
}

fn uri(text: &str) -> Option<&'static str> {
    (!super::web::is_url(text)).then_some("no URI: absolute, or a path that begins with a slash")
}

fn uuid(text: &str) -> Option<&'static str> {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_hex = text.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    let is_right = is_hex && (lengths == [8, 4, 4, 4, 12] || lengths == [32]);
    (!is_right).then_some("no UUID")
}

fn byte(text: &str) -> Option<&'static str> {
    let padding = text.len() - text.trim_end_matches('=').len();
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    let is_right = !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && text.trim_end_matches('=').chars().all(is_base64);
    (!is_right).then_some("no base64")
}

fn date(text: &str) -> Option<&'static str> {
    let is_right = text.len() == 10 && chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok();
    (!is_right).then_some("no date as RFC 3339 has it")
}

fn datetime(text: &str) -> Option<&'static str> {
    chrono::DateTime::parse_from_rfc3339(text).is_err().then_some("no moment as RFC 3339 has it")
}
