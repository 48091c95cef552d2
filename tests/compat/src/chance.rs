use std::net::Ipv4Addr;

/// Letters of which Kubernetes makes the random ends of names, and its hashes.
const NAME_LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";

/// `text` without that which comes by chance, or of when it was printed: uids, times, ages, addresses, the ends of
/// generated names. What aligns columns goes too.
pub fn without_chance(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(line_without_chance).collect();
    lines.join("\n")
}

fn line_without_chance(line: &str) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let mut out = String::with_capacity(line.len());
    out.push_str(&line[..indent]);
    let mut rest = &line[indent..];
    while !rest.is_empty() {
        let token = rest.len() - rest.trim_start_matches(is_of_token).len();
        out.push_str(&steady(&rest[..token]));
        rest = &rest[token..];
        let between = rest.len() - rest.trim_start_matches(|c| !is_of_token(c)).len();
        let gap = &rest[..between];
        out.push_str(if gap.len() > 1 && gap.trim().is_empty() { "  " } else { gap });
        rest = &rest[between..];
    }
    out.trim_end().to_owned()
}

fn is_of_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-.:+_".contains(c)
}

/// What a token says whenever and wherever it is printed.
fn steady(token: &str) -> String {
    let word = token.trim_end_matches(['.', ':']);
    let end = &token[word.len()..];
    let said = if is_uid(word) {
        "UID".to_owned()
    } else if is_time(word) {
        "TIME".to_owned()
    } else if is_address(word) {
        "ADDRESS".to_owned()
    } else if is_age(word) {
        "AGE".to_owned()
    } else {
        named(word)
    };
    said + end
}

fn is_uid(word: &str) -> bool {
    let lengths = word.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// As `2026-11-30T06:47:00Z`, with or without fractions of a second.
fn is_time(word: &str) -> bool {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape.starts_with("0000-00-00T00:00:00")
}

/// An IPv4 address, with or without a port.
fn is_address(word: &str) -> bool {
    let (address, port) = word.split_once(':').unwrap_or((word, "1"));
    address.parse::<Ipv4Addr>().is_ok() && port.parse::<u16>().is_ok()
}

/// As `5s`, `2m10s`, `3h`.
fn is_age(word: &str) -> bool {
    let mut digits = 0;
    let mut units = 0;
    for c in word.chars() {
        match c {
            '0'..='9' => digits += 1,
            's' | 'm' | 'h' | 'd' if digits > 0 => (digits, units) = (0, units + 1),
            _ => return false,
        }
    }
    units > 0 && digits == 0
}

/// A name, or that of a file, without its random end and the hash before it.
fn named(word: &str) -> String {
    let parts = word.split('-').enumerate().map(|(at, part)| {
        let (stem, ending) = part.split_at(part.find('.').unwrap_or(part.len()));
        chance(stem).filter(|_| at > 0).unwrap_or(stem).to_owned() + ending
    });
    parts.collect::<Vec<_>>().join("-")
}

/// What a part of a name is, if it came by chance.
fn chance(part: &str) -> Option<&'static str> {
    let is_random = part.chars().all(|c| NAME_LETTERS.contains(c));
    match part.len() {
        5 if is_random => Some("RANDOM"),
        8..=10 if is_random => Some("HASH"),
        6.. if part.bytes().all(|byte| byte.is_ascii_digit()) => Some("DIGITS"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_by_chance_goes_and_the_rest_stays() {
        for (text, without) in [
            ("pod/web-6d4cf56db6-x7k2m created", "pod/web-HASH-RANDOM created"),
            ("NAME    AGE\nweb-2   5s", "NAME  AGE\nweb-2  AGE"),
            ("  uid: 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "  uid: UID"),
            ("at \"2026-11-30T06:47:00Z\" and 2026-11-30T06:47:00.5Z", "at \"TIME\" and TIME"),
            ("Forwarding from 127.0.0.1:40001 -> 80", "Forwarding from ADDRESS -> 80"),
            ("version 1.37.2, seen 2m10s ago.", "version 1.37.2, seen AGE ago."),
            ("config-files stay", "config-files stay"),
            ("/tmp/kubectl-edit-2878811389.yaml", "/tmp/kubectl-edit-DIGITS.yaml"),
        ] {
            assert_eq!(without_chance(text), without);
        }
    }
}
