//! What can be a label's key or value (apimachinery's `pkg/api/validate/content`), and the API server's words where it cannot.

const KEY_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const SUBDOMAIN_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const NAME_CHARS_MAX: usize = 63;
const PREFIX_CHARS_MAX: usize = 253;

/// Whether `key` can be a label's key.
///
/// # Errors
/// `Invalid value: "…": …`.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    let parts: Vec<_> = key.split('/').collect();
    let faults = match parts[..] {
        [name] => name_faults(name),
        [prefix, name] => [prefix_faults(prefix), name_faults(name)].concat(),
        _ => vec![format!(
            "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            key_rule()
        )],
    };
    invalid(key, &faults)
}

/// Whether `value` can be a label's value.
///
/// # Errors
/// `Invalid value: "…": …`.
pub(super) fn check_value(value: &str) -> Result<(), String> {
    let mut faults = Vec::new();
    if value.len() > NAME_CHARS_MAX {
        faults.push(too_long(NAME_CHARS_MAX));
    }
    if !value.is_empty() && !is_name(value) {
        let rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                    start and end with an alphanumeric character";
        let examples = "'MyValue',  or 'my_value',  or '12345', ";
        faults.push(format!("{rule} (e.g. {examples}regex used for validation is '({KEY_FORMAT})?')"));
    }
    invalid(value, &faults)
}

fn invalid(value: &str, faults: &[String]) -> Result<(), String> {
    if faults.is_empty() { Ok(()) } else { Err(format!("Invalid value: {value:?}: {}", faults.join("; "))) }
}

fn name_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_CHARS_MAX {
        faults.push(format!("name part {}", too_long(NAME_CHARS_MAX)));
    }
    if !is_name(name) {
        faults.push(format!("name part {}", key_rule()));
    }
    faults
}

fn prefix_faults(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut faults = Vec::new();
    if prefix.len() > PREFIX_CHARS_MAX {
        faults.push(format!("prefix part {}", too_long(PREFIX_CHARS_MAX)));
    }
    if !prefix.split('.').all(is_dns_label) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                    start and end with an alphanumeric character";
        faults.push(format!(
            "prefix part {rule} (e.g. 'example.com', regex used for validation is '{SUBDOMAIN_FORMAT}')"
        ));
    }
    faults
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    bytes.iter().all(inner) && ends_are(bytes, |byte| byte.is_ascii_alphanumeric())
}

fn is_dns_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.iter().all(|&byte| alphanumeric(byte) || byte == b'-') && ends_are(bytes, alphanumeric)
}

fn ends_are(bytes: &[u8], is: impl Fn(u8) -> bool) -> bool {
    matches!((bytes.first(), bytes.last()), (Some(&first), Some(&last)) if is(first) && is(last))
}

fn key_rule() -> String {
    let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    format!("{rule} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{KEY_FORMAT}')")
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}
