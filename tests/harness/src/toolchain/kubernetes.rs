use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{Build, Makes, Profile, go, progress, run};
use crate::places::{cache, repository};

/// A minor version of Kubernetes that clusters can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Minor {
    /// The oldest that has WatchList for every resource.
    #[value(name = "1.34")]
    V1_34,
    /// The one before the newest.
    #[value(name = "1.36")]
    V1_36,
    /// The newest, which the tests run.
    #[value(name = "1.37")]
    V1_37,
}

/// Programs of a Kubernetes module that are built.
const PROGRAMS: [&str; 4] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

// === impl Minor ===

impl Minor {
    /// The newest.
    pub const NEWEST: Self = Self::V1_37;

    /// Full version, as `1.37.2`.
    pub fn version(self) -> &'static str {
        match self {
            Self::V1_34 => "1.34.4",
            Self::V1_36 => "1.36.3",
            Self::V1_37 => "1.37.2",
        }
    }
}

/// Builds one program of Kubernetes.
pub(super) fn build(minor: Minor, profile: Profile, program: &str) -> Result<PathBuf> {
    let module = match minor {
        Minor::NEWEST => repository().join("tests/clusters/kubernetes"),
        older => derived_module(older)?,
    };
    let ldflags = release_flags(minor)?;
    let output = profile.folder(&format!("kubernetes-{}", minor.version()))?.join(program);
    let package = format!("k8s.io/kubernetes/cmd/{program}");
    Build { module: &module, package: &package, ldflags: &ldflags, makes: Makes::Program, profile, output }.run()
}

/// Linker flags that stamp a program with its version as a release is: a server that calls itself v0.0.0 is refused
/// some things by kubectl.
pub(super) fn release_flags(minor: Minor) -> Result<String> {
    let version = minor.version();
    let (major, rest) = version.split_once('.').expect("versions have three parts");
    let (minor, _) = rest.split_once('.').expect("versions have three parts");
    let mut ldflags = "-s -w".to_owned();
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        let said = [
            ("gitVersion", format!("v{version}")),
            ("gitMajor", major.to_owned()),
            ("gitMinor", minor.to_owned()),
            ("gitCommit", "0".repeat(40)),
            ("gitTreeState", "clean".to_owned()),
            ("buildDate", "2026-01-01T00:00:00Z".to_owned()),
        ];
        for (name, value) in said {
            write!(ldflags, " -X {package}.{name}={value}")?;
        }
    }
    Ok(ldflags)
}

/// A module for a minor other than the newest, made in the cache from Kubernetes' own go.mod of that version.
fn derived_module(minor: Minor) -> Result<PathBuf> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Downloaded {
        go_mod: PathBuf,
    }
    let version = minor.version();
    let dir = cache(&format!("modules/kubernetes-{version}"))?;
    let lock = File::create(dir.join("lock"))?;
    lock.lock().context("failed to wait for another build")?;
    if dir.join("go.sum").exists() {
        return Ok(dir);
    }
    let said = run(go(&dir)?.args(["mod", "download", "-json", &format!("k8s.io/kubernetes@v{version}")]))?;
    let downloaded: Downloaded = serde_json::from_str(&said)?;
    fs::write(dir.join("go.mod"), derived_go_mod(&fs::read_to_string(&downloaded.go_mod)?, version)?)?;
    progress(&format!("reading the list of modules of Kubernetes {version}"), || run(go(&dir)?.args(["mod", "tidy"])))?;
    Ok(dir)
}

/// The staging modules stand in Kubernetes' go.mod as `k8s.io/X => ./staging/src/k8s.io/X`; they are published as
/// v0.MINOR.PATCH. Only sample-cli-plugin is not, and nothing needs it.
fn derived_go_mod(upstream: &str, version: &str) -> Result<String> {
    let staging_version = version.strip_prefix("1.").context("Kubernetes is at major version 1")?;
    let directives: BTreeMap<&str, &str> = upstream
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(word, _)| ["go", "godebug"].contains(word))
        .collect();
    let staging: Vec<&str> = upstream
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("replace ").split_once(" => ./staging/"))
        .map(|(module, _)| module)
        .filter(|module| !module.ends_with("/sample-cli-plugin"))
        .collect();
    if staging.is_empty() {
        bail!("the go.mod of Kubernetes {version} replaces no staging modules; its layout has changed");
    }
    let mut text = "module orrery.dev/tests/kubernetes\n\n".to_owned();
    writeln!(text, "go {}", directives.get("go").context("it names no Go version")?)?;
    if let Some(godebug) = directives.get("godebug").filter(|rest| rest.contains('=')) {
        writeln!(text, "godebug {godebug}")?;
    }
    writeln!(text, "require k8s.io/kubernetes v{version}")?;
    for module in staging {
        writeln!(text, "replace {module} => {module} v0.{staging_version}")?;
    }
    for program in PROGRAMS {
        writeln!(text, "tool k8s.io/kubernetes/cmd/{program}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_minors_module_names_the_published_staging_modules() {
        let upstream = "module k8s.io/kubernetes\n\ngo 1.24.0\n\ngodebug default=go1.24\n\nreplace (\n\
                        \tk8s.io/api => ./staging/src/k8s.io/api\n\
                        \tk8s.io/sample-cli-plugin => ./staging/src/k8s.io/sample-cli-plugin\n)\n";
        let made = derived_go_mod(upstream, "1.34.4").unwrap();
        assert!(made.contains("go 1.24.0\ngodebug default=go1.24\nrequire k8s.io/kubernetes v1.34.4\n"), "{made}");
        assert!(made.contains("replace k8s.io/api => k8s.io/api v0.34.4\n"), "{made}");
        assert!(!made.contains("sample-cli-plugin"), "{made}");
        assert!(derived_go_mod("go 1.24.0\n", "1.34.4").is_err());
    }

    #[test]
    fn the_committed_module_is_of_the_newest_minor() {
        let module = fs::read_to_string(repository().join("tests/clusters/kubernetes/go.mod")).unwrap();
        assert!(module.contains(&format!("k8s.io/kubernetes v{}", Minor::NEWEST.version())));
    }
}
