//! Every YAML block of the README and of docs/ is one that the host takes: a configuration file or a file of extensions.

use std::fs;
use std::path::{Path, PathBuf};

use orrery_api::config::{self, Config};
use orrery_api::extension::Document;

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    docs.chain([root.join("README.md")]).filter(is_markdown).collect()
}

/// The `yaml` blocks of `markdown`, each with the number of its first line.
fn blocks(markdown: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (at, line) in markdown.lines().enumerate() {
        match (&mut block, line.trim()) {
            (None, "```yaml") => block = Some((at + 2, String::new())),
            (Some(_), "```") => blocks.extend(block.take()),
            (Some((_, text)), _) => *text += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    blocks
}

fn problem(block: &str) -> Option<String> {
    if block.contains(&format!("apiVersion: {}", config::API_VERSION)) {
        return Config::parse(block).err().map(|error| error.to_string());
    }
    match Document::parse(block) {
        Ok(documents) if documents.is_empty() => Some("it has no documents".to_owned()),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn every_yaml_block_of_a_document_is_taken_by_the_host() {
    let (mut read, mut wrong) = (0, Vec::new());
    for document in documents() {
        for (line, block) in blocks(&fs::read_to_string(&document).unwrap()) {
            read += 1;
            wrong.extend(problem(&block).map(|problem| format!("{}:{line}: {problem}", document.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read >= 4, "only {read} blocks were found");
}

#[test]
fn a_block_that_the_host_would_refuse_is_found() {
    let markdown =
        "a\n```yaml\nkind: Deployment\n```\n```yaml\napiVersion: config.orrery.dev/v1alpha1\nkind: Config\n```\n";
    let blocks = blocks(markdown);
    assert_eq!(blocks.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 6]);
    assert!(blocks.iter().all(|(_, block)| problem(block).is_some()), "{blocks:?}");
}
