use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

/// How one spec went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Its full name.
    pub name: String,
    /// How long it took.
    pub took: Duration,
    /// The first lines of why it failed, if it did.
    pub failure: Option<String>,
}

/// Lines that are kept of a failure.
const LINES_MAX: usize = 12;

/// One run of a suite in ginkgo's report.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Suite {
    spec_reports: Option<Vec<Node>>,
}

/// A spec, or a step before or after all specs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Node {
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    leaf_node_text: String,
    state: String,
    /// Nanoseconds.
    run_time: u64,
    failure: Option<Failure>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    message: String,
}

/// Reads the verdicts in a report of ginkgo: of each spec that ran, and of each step around them that failed.
pub(super) fn read(report: &Path) -> Result<Vec<Verdict>> {
    let file = File::open(report).with_context(|| format!("there is no report {}", report.display()))?;
    let suites: Vec<Suite> = serde_json::from_reader(BufReader::new(file))
        .with_context(|| format!("{} is not a report of ginkgo", report.display()))?;
    let nodes = suites.into_iter().flat_map(|suite| suite.spec_reports.unwrap_or_default());
    Ok(nodes.filter_map(Node::verdict).collect())
}

// === impl Node ===

impl Node {
    fn verdict(self) -> Option<Verdict> {
        let passed = self.state == "passed";
        // A spec that skips itself says why; one that was not asked for does not.
        if self.leaf_node_type == "It" {
            if ["skipped", "pending"].contains(&&*self.state) && self.failure.is_none() {
                return None;
            }
        } else if passed {
            return None;
        }
        let failure = (!passed).then(|| format!("{}: {}", self.state, self.first_lines()));
        Some(Verdict { name: self.name(), took: Duration::from_nanos(self.run_time), failure })
    }

    fn name(&self) -> String {
        if self.leaf_node_type != "It" {
            return self.leaf_node_type.clone();
        }
        let containers = self.container_hierarchy_texts.iter().flatten();
        containers.chain([&self.leaf_node_text]).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    fn first_lines(&self) -> String {
        let message = self.failure.as_ref().map(|failure| failure.message.as_str()).unwrap_or_default();
        message.lines().take(LINES_MAX).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_tells_what_passed_and_what_did_not_and_leaves_out_what_was_not_asked_for() {
        let node = |kind: &str, text: &str, state: &str, failure: &str| {
            format!(
                r#"{{"ContainerHierarchyTexts":["[sig-x] Things"],"LeafNodeType":"{kind}","LeafNodeText":"{text}",
                    "State":"{state}","RunTime":1500000000{failure}}}"#
            )
        };
        let long = format!(r#","Failure":{{"Message":"{}"}}"#, "a\\n".repeat(20));
        let nodes = [
            node("It", "work", "passed", ""),
            node("It", "rest", "skipped", ""),
            node("It", "need more", "skipped", r#","Failure":{"Message":"no nodes"}"#),
            node("It", "break", "timedout", &long),
            node("SynchronizedBeforeSuite", "", "passed", ""),
            node("AfterSuite", "", "failed", r#","Failure":{"Message":"late"}"#),
        ];
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!(r#"[{{"SpecReports":[{}]}}]"#, nodes.join(","))).unwrap();
        let verdicts = read(file.path()).unwrap();
        let told: Vec<(&str, Option<&str>)> =
            verdicts.iter().map(|verdict| (&*verdict.name, verdict.failure.as_deref())).collect();
        let twelve = format!("timedout: {}", ["a"; LINES_MAX].join("\n"));
        let expected = [
            ("[sig-x] Things work", None),
            ("[sig-x] Things need more", Some("skipped: no nodes")),
            ("[sig-x] Things break", Some(&*twelve)),
            ("AfterSuite", Some("failed: late")),
        ];
        assert_eq!(told, expected);
        assert_eq!(verdicts[0].took, Duration::from_millis(1500));
    }
}
