use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{cache, upstream_suite};

use super::{Verdict, report};

/// Specs that run at once. Those that ginkgo knows as serial run alone, after the others.
const AT_ONCE: &str = "4";

/// How the suite calls itself; patterns are matched against this and the spec's name.
const SUITE: &str = "Kubernetes e2e suite";

/// One run of specs against one API server.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Kubeconfig of the API server.
    pub kubeconfig: &'a Path,
    /// The kubectl that specs run.
    pub kubectl: &'a Path,
    /// Name of the run: its report and its output are kept under it in the cache.
    pub name: &'a str,
    /// Longest time for one spec that can be told to end.
    pub spec_limit: Duration,
    /// Longest time for all.
    pub limit: Duration,
}

// === impl Run ===

impl Run<'_> {
    /// Runs the specs `names`, and gives a verdict on each, in the order of `names`; further ones if something around
    /// them failed.
    pub fn specs(&self, names: &[&str]) -> Result<Vec<Verdict>> {
        let patterns: Vec<String> = names.iter().map(|name| format!("^{SUITE} {}$", escaped(name))).collect();
        let mut ran = self.matching(&patterns, None)?;
        let verdicts = names.iter().map(|name| match ran.iter().position(|verdict| verdict.name == *name) {
            Some(at) => ran.swap_remove(at),
            None => {
                let failure = Some("it was not run: no spec has this name, or the run ended before it".to_owned());
                Verdict { name: (*name).to_owned(), took: Duration::ZERO, failure }
            }
        });
        let verdicts: Vec<Verdict> = verdicts.collect();
        Ok(verdicts.into_iter().chain(ran).collect())
    }

    /// Runs the specs whose names match one of `patterns` and not `except`.
    pub fn matching(&self, patterns: &[String], except: Option<&str>) -> Result<Vec<Verdict>> {
        let folder = self.folder()?;
        let report = folder.join("report.json");
        if report.exists() {
            fs::remove_file(&report)?;
        }
        let output = File::create(folder.join("output.log"))?;
        let mut command = self.command(patterns, except)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        // It ends with failure when a spec fails: the report tells more.
        let status = command.status().context("failed to start ginkgo")?;
        let verdicts = report::read(&report);
        verdicts.with_context(|| format!("ginkgo ended with {status}; its output is kept in {}", folder.display()))
    }

    /// Where report and output are kept.
    pub fn folder(&self) -> Result<PathBuf> {
        cache(&format!("conformance/{}", self.name))
    }

    fn command(&self, patterns: &[String], except: Option<&str>) -> Result<Command> {
        ensure!(!patterns.is_empty(), "no specs to run");
        let folder = self.folder()?;
        let programs = upstream_suite()?;
        // SIGTERM: ginkgo ends the processes of the suite, which would go on by themselves.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--"]).arg(programs.ginkgo);
        command.args(["--procs", AT_ONCE, "--no-color", "--succinct", "--json-report", "report.json", "--output-dir"]);
        command.arg(&folder).arg(format!("--timeout={}s", self.limit.as_secs()));
        command.args(patterns.iter().map(|pattern| format!("--focus={pattern}")));
        command.args(except.iter().map(|pattern| format!("--skip={pattern}")));
        command.arg(programs.suite).arg("--");
        command.arg("-kubeconfig").arg(self.kubeconfig).arg("-kubectl-path").arg(self.kubectl);
        command.args(["-provider", "skeleton", "-allowed-not-ready-nodes", "-1", "-minStartupPods", "0"]);
        command.arg("-e2e-output-dir").arg(&folder).arg(format!("-spec-limit={}s", self.spec_limit.as_secs()));
        // A failed spec's namespace goes as any other's: the specs after it need the room.
        command.args(["-dump-logs-on-failure=false", "-disable-log-dump"]);
        Ok(command)
    }
}

/// A pattern that matches `text` alone.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_a_pattern_is_escaped() {
        assert_eq!(escaped("[DRA] CRUD k8s.io/v1 (aka. x)"), r"\[DRA\] CRUD k8s\.io/v1 \(aka\. x\)");
    }
}
