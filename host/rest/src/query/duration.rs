/// Go's units of time.
const UNITS: [&str; 8] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];

/// Checks a duration, and says in Go's words what is wrong with it (`time.ParseDuration`).
pub(super) fn check(text: &str) -> Result<(), String> {
    let invalid = || format!("time: invalid duration {}", quoted(text));
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        let is_number = digits.contains(|c: char| c.is_ascii_digit()) && digits.matches('.').count() < 2;
        let whole = digits.split('.').next().unwrap_or_default();
        if !is_number || !whole.is_empty() && !whole.parse().is_ok_and(|number: u64| number <= 1 << 63) {
            return Err(invalid());
        }
        let unit = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        match unit {
            "" => return Err(format!("time: missing unit in duration {}", quoted(text))),
            unit if UNITS.contains(&unit) => {}
            unit => {
                let (unit, text) = (quoted(unit), quoted(text));
                return Err(format!("time: unknown unit {unit} in duration {text}"));
            }
        }
        rest = after;
    }
    Ok(())
}

/// A text in double quotes as Go's `time` prints it, which is not as the rest of Go does.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' | b'\x7f' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for text in ["0", "5s", "1m30s", "-1.5h", "+.5s", "1.s", "3µs", "-0"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for (text, why) in [
            ("abc", r#"time: invalid duration "abc""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5x", r#"time: unknown unit "x" in duration "5x""#),
            ("-", r#"time: invalid duration "-""#),
            (".s", r#"time: invalid duration ".s""#),
            ("99999999999999999999", r#"time: invalid duration "99999999999999999999""#),
            ("\n\"ä", r#"time: invalid duration "\x0a\"\xc3\xa4""#),
            ("1.2.3s", r#"time: invalid duration "1.2.3s""#),
        ] {
            assert_eq!(check(text), Err(why.to_owned()), "{text}");
        }
    }
}
