//! What kubectl prints, without that in which a host may differ from its member.

/// `text` with every resourceVersion written as `N`, in JSON, YAML and descriptions.
pub fn unversioned(text: &str) -> String {
    const KEYS: [&str; 2] = ["resourceVersion", "Resource Version"];
    let mut rest = text;
    let mut out = String::with_capacity(text.len());
    while let Some((at, key)) = KEYS.iter().filter_map(|key| Some((rest.find(key)?, key))).min() {
        let after = &rest[at + key.len()..];
        let value = after.trim_start_matches(['\\', '"', ':', ' ', '\t']);
        let digits = value.len() - value.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (shown, skipped) = rest.split_at(rest.len() - value.len());
        out.push_str(shown);
        if digits > 0 {
            out.push('N');
        }
        rest = &skipped[digits..];
    }
    out + rest
}

/// Tables without their CLUSTER column. Spaces at line ends go, because kubectl pads all columns but the last.
pub fn without_cluster(text: &str) -> String {
    let mut cut = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.is_empty() {
            cut = None;
        } else if let Some(at) =
            line.find("CLUSTER").filter(|_| line.starts_with("NAME") || line.starts_with("LAST SEEN"))
        {
            let after = line[at + "CLUSTER".len()..].find(|c| c != ' ').map(|offset| at + "CLUSTER".len() + offset);
            cut = Some((at, after));
        }
        lines.push(cut.map_or_else(|| line.trim_end().to_owned(), |(at, after)| cut_columns(line, at, after)));
    }
    lines.join("\n")
}

/// Tables without the columns `names`, for watches, which are printed row by row. No cell may hold a space.
pub fn without_columns(text: &str, names: &[&str]) -> String {
    let mut dropped: Vec<usize> = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells.contains(&"NAME") {
            dropped = (0..cells.len()).filter(|at| names.contains(&cells[*at])).collect();
        }
        let kept: Vec<&str> =
            cells.iter().enumerate().filter(|(at, _)| !dropped.contains(at)).map(|(_, cell)| *cell).collect();
        lines.push(kept.join(" "));
    }
    lines.join("\n")
}

fn cut_columns(line: &str, from: usize, to: Option<usize>) -> String {
    let chars: Vec<char> = line.chars().collect();
    let before: String = chars.iter().take(from).collect();
    let after: String = to.map(|to| chars.iter().skip(to).collect()).unwrap_or_default();
    format!("{before}{after}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_blanked_wherever_they_stand() {
        for (text, blanked) in [
            ("resourceVersion: \"12\"\n  uid: 3", "resourceVersion: \"N\"\n  uid: 3"),
            (r#"{"resourceVersion":"345","uid":"6"}"#, r#"{"resourceVersion":"N","uid":"6"}"#),
            ("  Resource Version:    78\n  UID: 9", "  Resource Version:    N\n  UID: 9"),
            ("resourceVersion here 5", "resourceVersion here 5"),
            ("resourceVersion", "resourceVersion"),
        ] {
            assert_eq!(unversioned(text), blanked);
        }
    }

    #[test]
    fn the_cluster_column_is_cut_and_nothing_else() {
        let through =
            "NAME   READY   CLUSTER   NODE\na      1/1     east      n1\n\nNAME   DATA   CLUSTER\nb      2      west\n";
        assert_eq!(without_cluster(through), "NAME   READY   NODE\na      1/1     n1\n\nNAME   DATA\nb      2");
        assert_eq!(without_cluster("CLUSTER-IP\nx y"), "CLUSTER-IP\nx y");
    }

    #[test]
    fn columns_are_dropped_row_by_row() {
        assert_eq!(without_columns("NAME DATA AGE CLUSTER\na 1 5s east", &["AGE", "CLUSTER"]), "NAME DATA\na 1");
    }
}
