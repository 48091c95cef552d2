//! The name that was meant.

/// The one of `names` that is most like `name`, if one is like it at all: at most a third of it differs.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = (name.chars().count() / 3).max(1);
    let close = names.into_iter().map(|known| (distance(name, known), known)).filter(|(far, _)| *far <= bound);
    close.min_by_key(|(far, _)| *far).map(|(_, known)| known)
}

/// How many characters are to be put in, taken out, changed or swapped with their neighbour; case is none of these.
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (letters(from), letters(to));
    let mut rows = vec![(0..=to.len()).collect::<Vec<_>>()];
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let changed = rows[i][j] + usize::from(a != b);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

/// At most as many as names have.
fn letters(name: &str) -> Vec<char> {
    name.chars().take(64).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_slip_is_found_and_another_name_is_not() {
        let names = ["labels", "taints", "region", "ready"];
        for (written, meant) in [
            ("lables", Some("labels")),
            ("label", Some("labels")),
            ("Region", Some("region")),
            ("raedy", Some("ready")),
        ] {
            assert_eq!(nearest(written, names), meant, "{written}");
        }
        for other in ["capacity", "x", "lab"] {
            assert_eq!(nearest(other, names), None, "{other}");
        }
    }
}
