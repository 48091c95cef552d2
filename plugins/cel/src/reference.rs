//! What people read of all this, made from what the code knows: the tables of the reference and the JSON Schemas.

use crate::check::known;
use crate::library::table::{GROUPS, MACROS};
use crate::policy::STAGES;
pub use crate::schema::json_schema;

/// The tables of `docs/cel.md`: the variables of each stage, the functions and the macros, each with an example.
pub fn tables() -> String {
    let mut text = String::from("### Variables\n\n| stage | variables |\n|---|---|\n");
    for (name, stage) in STAGES {
        let variables = known(stage).into_iter().filter(|(name, _)| !name.starts_with('@'));
        let shown: Vec<String> =
            variables.map(|(name, of)| format!("`{name}`: {}", escaped(&of.to_string()))).collect();
        text += &format!("| {name} | {}, `variables` |\n", shown.join(", "));
    }
    text += "\n### Macros\n\n| macro | example, which is true |\n|---|---|\n";
    for function in MACROS {
        text += &row(function.0, function.1);
    }
    for group in GROUPS {
        text += &format!("\n### {}\n\n| function | example, which is true |\n|---|---|\n", group.title);
        for function in group.functions {
            text += &row(function.0, function.1);
        }
    }
    text
}

fn row(signatures: &str, example: &str) -> String {
    let signatures: Vec<String> = signatures.split(" | ").map(|signature| format!("`{signature}`")).collect();
    // A cell ends at a bar, even within code.
    format!("| {} | `{}` |\n", signatures.join("<br>"), example.replace('|', "\\|"))
}

fn escaped(text: &str) -> String {
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What stands between these two lines of the document is made here.
    const MARKS: [&str; 2] = ["<!-- made by UPDATE_EXPECT=1 cargo test in plugins/cel -->\n", "<!-- end -->\n"];

    #[test]
    fn the_tables_of_the_reference_are_what_the_code_knows() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cel.md");
        let text = fs::read_to_string(file).expect("the reference is there");
        let (head, rest) = text.split_once(MARKS[0]).expect("the first mark is there");
        let (_, tail) = rest.split_once(MARKS[1]).expect("the second mark is there");
        let made = format!("{head}{}\n{}\n{}{tail}", MARKS[0], tables(), MARKS[1]);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(file, &made).expect("it can be written");
        } else {
            assert!(made == text, "docs/cel.md is not what the code knows; UPDATE_EXPECT=1 cargo test writes it");
        }
    }
}
