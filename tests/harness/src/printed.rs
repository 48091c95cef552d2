//! Comparing what a command printed with what is written, apart from what no two runs share.

use anyhow::{Result, bail};

/// An error that shows both, if they differ in more than ages, generated names and the order of rows.
pub fn printed_as_written(written: &[String], printed: &str) -> Result<()> {
    let plain = |lines: Vec<&str>| {
        let mut rows: Vec<String> = lines.into_iter().filter(|line| !line.trim().is_empty()).map(plain_row).collect();
        rows.sort();
        rows
    };
    let expected = plain(written.iter().map(String::as_str).collect());
    let got = plain(printed.lines().collect());
    if expected != got {
        bail!("written:\n{}\nprinted:\n{}", expected.join("\n"), got.join("\n"));
    }
    Ok(())
}

/// A row with its cells set apart by one space.
fn plain_row(row: &str) -> String {
    row.split_whitespace().map(plain_word).collect::<Vec<_>>().join(" ")
}

fn plain_word(word: &str) -> String {
    if is_age(word.trim_matches(['(', ')'])) {
        return "<age>".to_owned();
    }
    word.split('-').map(|part| if is_generated(part) { "<generated>" } else { part }).collect::<Vec<_>>().join("-")
}

/// As Kubernetes prints ages: `7s`, `2m3s`, `5d`, `3d4h`.
fn is_age(word: &str) -> bool {
    let digits_and_units = word.bytes().all(|byte| byte.is_ascii_digit() || b"smhdy".contains(&byte));
    let ends_with_unit = word.bytes().last().is_some_and(|byte| byte.is_ascii_lowercase());
    digits_and_units && ends_with_unit && word.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
}

/// The parts of names that Kubernetes makes: 5 characters at random, or 8 to 10 of a hash, of an alphabet without vowels.
fn is_generated(part: &str) -> bool {
    let alphabet = part.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte));
    alphabet && (part.len() == 5 || (8..=10).contains(&part.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn ages_generated_names_and_the_order_of_rows_do_not_matter() {
        let written = lines("NAME   AGE\nweb-6cf5887fd6-9wt85   5s\nb   1m");
        printed_as_written(&written, "NAME AGE\nb  2m3s\nweb-7df4776d54-xzx2k  12s\n").unwrap();
    }

    #[test]
    fn everything_else_matters() {
        let written = lines("NAME   READY   AGE\nweb   1/1   5s");
        for printed in [
            "NAME READY AGE\nweb 0/1 5s",
            "NAME READY AGE",
            "NAME READY AGE\nweb 1/1 <none>",
            "NAME READY AGE\nwest 1/1 5s",
        ] {
            assert!(printed_as_written(&written, printed).is_err(), "{printed}");
        }
    }
}
