/// A scalar of JSON, to be written as YAML.
#[derive(Debug)]
pub(super) enum Scalar<'a> {
    Text(String),
    /// A number, `true`, `false` or `null`: the same in both.
    Word(&'a [u8]),
}

/// Words that some reader of YAML 1.1 or 1.2 takes for something other than a text, in lower case.
const RESERVED: [&str; 13] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "~", "=", "<<", "nan"];

// === impl Scalar ===

impl<'a> Scalar<'a> {
    /// Reads what stands in the JSON, quotes included. What is no JSON text is kept as it is.
    pub(super) fn read(json: &'a [u8]) -> Self {
        match json {
            [b'"', ..] => {
                let text = serde_json::from_slice(json);
                Self::Text(text.unwrap_or_else(|_| String::from_utf8_lossy(json).trim_matches('"').to_owned()))
            }
            word => Self::Word(word),
        }
    }

    /// Appends it as a member's name.
    pub(super) fn write_key(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => write_line(text, out),
            Self::Word(word) => out.extend_from_slice(word),
        }
    }

    /// Appends it as a value. Lines of a text that has several are indented by `indent`.
    pub(super) fn write(&self, indent: usize, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) if is_block(text) => write_block(text, indent, out),
            Self::Text(text) => write_line(text, out),
            Self::Word(word) => out.extend_from_slice(word),
        }
    }
}

fn write_line(text: &str, out: &mut Vec<u8>) {
    if is_plain(text) {
        out.extend_from_slice(text.as_bytes());
    } else {
        write_quoted(text, out);
    }
}

/// Whether a text means itself without quotes to every reader. Quotes too many do no harm.
fn is_plain(text: &str) -> bool {
    let begins_well =
        text.chars().next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '/' | '$' | '^' | '('));
    begins_well
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
        && text.chars().all(|c| is_printable(c) && c != '\t')
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
}

/// Whether a text can stand as a literal block: it has lines, and its first tells how far they are indented.
fn is_block(text: &str) -> bool {
    text.contains('\n') && !text.starts_with([' ', '\t', '\n']) && text.chars().all(|c| is_printable(c) || c == '\n')
}

fn write_block(text: &str, indent: usize, out: &mut Vec<u8>) {
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    // How many line ends the text has: none is stripped, one is clipped to, more are kept.
    out.extend_from_slice(match ends {
        0 => b"|-",
        1 => b"|",
        _ => b"|+",
    });
    for line in body.split('\n') {
        out.push(b'\n');
        if !line.is_empty() {
            out.resize(out.len() + indent, b' ');
            out.extend_from_slice(line.as_bytes());
        }
    }
    // The last line end comes with the next line of the document.
    out.resize(out.len() + ends.saturating_sub(1), b'\n');
}

fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend([b'\\', c as u8]),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            c if is_printable(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            c if u32::from(c) <= 0xff => out.extend_from_slice(format!("\\x{:02X}", u32::from(c)).as_bytes()),
            c if u32::from(c) <= 0xffff => out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes()),
            c => out.extend_from_slice(format!("\\U{:08X}", u32::from(c)).as_bytes()),
        }
    }
    out.push(b'"');
}

/// Whether a character may stand in a document as it is (YAML 1.2, 5.1). Line separators may, but break lines in 1.1.
fn is_printable(c: char) -> bool {
    matches!(c, '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}
