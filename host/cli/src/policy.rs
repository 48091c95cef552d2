use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use orrery_api::extension::ExtensionKind;
use orrery_api::status::{TRY_PATH, Trial};
use serde_json::Value;

use crate::data::DataArgs;
use crate::host::Host;
use crate::place::manifest;
use crate::plugin::path_of;
use crate::{Environment, Error};

/// A command of `orrery policy`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum PolicyCommand {
    /// Check the rules of a file: their expressions, names and types, and their tests
    #[command(visible_alias = "check")]
    Test(FileArgs),
    /// Show what each part of a rule gives for an object, in each cluster
    Explain(ExplainArgs),
}

/// Flags of `orrery policy explain`.
#[derive(Clone, Debug, clap::Args)]
pub struct ExplainArgs {
    /// The rule's name
    name: String,
    /// Manifest of an object, in YAML or JSON; - for standard input
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    #[command(flatten)]
    data: DataArgs,
}

/// Which file.
#[derive(Clone, Debug, clap::Args)]
pub struct FileArgs {
    /// The file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

// === impl PolicyCommand ===

impl PolicyCommand {
    pub(crate) async fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        match self {
            Self::Test(args) => args.test(environment, out).await,
            Self::Explain(args) => args.run(environment, out).await,
        }
    }
}

// === impl ExplainArgs ===

impl ExplainArgs {
    async fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let host = Host::find(&self.data, environment).await?;
        let path = format!("{}/explain", path_of(ExtensionKind::CelPolicy, &self.name));
        let manifest = manifest(&self.filename)?.to_string().into_bytes();
        let explained: Value = host.post(&path, "application/json", manifest).await?;
        explain(&explained, out).map_err(Error::Print)
    }
}

// === impl FileArgs ===

impl FileArgs {
    async fn test(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let Self { file, data } = self;
        let host = Host::find(&data, environment).await?;
        let trials: Vec<Trial> = host.post(TRY_PATH, "application/yaml", read(&file)?).await?;
        if trials.is_empty() {
            return Err(Error::File { path: file, problem: "it has no CelPolicy".to_owned() });
        }
        report(&trials, out)
    }
}

/// Each expression with its value, and what its parts give below it.
fn explain(explained: &Value, out: &mut dyn Write) -> io::Result<()> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let given = |value: &Value| match value["error"].as_str() {
        Some(error) => format!("error: {error}"),
        None => text(value, "value"),
    };
    for on in list(&explained["on"]) {
        writeln!(out, "{}", text(&on, "name"))?;
        for kind in ["matchConditions", "variables", "expressions"] {
            for expression in list(&on[kind]) {
                writeln!(
                    out,
                    "  {} {} = {}",
                    text(&expression, "place"),
                    text(&expression, "name"),
                    given(&expression)
                )?;
                for part in list(&expression["parts"]) {
                    writeln!(out, "    {} = {}", text(&part, "text"), given(&part))?;
                }
            }
        }
    }
    Ok(())
}

/// The bytes of a file that the user names.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| Error::File { path: path.to_owned(), problem: error.to_string() })
}

/// A line for each trial; an error if one would not serve.
pub(crate) fn report(trials: &[Trial], out: &mut dyn Write) -> Result<(), Error> {
    trials.iter().try_for_each(|trial| print(trial, out)).map_err(Error::Print)?;
    if trials.iter().all(|trial| trial.step.is_none()) { Ok(()) } else { Err(Error::WouldNotServe) }
}

fn print(trial: &Trial, out: &mut dyn Write) -> io::Result<()> {
    let Trial { name, step, reason, exports, cases } = trial;
    match (step, reason) {
        (Some(step), reason) => writeln!(out, "{name}: {step}: {}", reason.as_deref().unwrap_or_default()),
        (None, _) => {
            let cases = if *cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") };
            writeln!(out, "{name}: would serve, {cases} passed (exports {})", exports.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_rule_is_shown_with_its_value_or_error() {
        let explained = serde_json::json!({"on": [{"name": "east", "matchConditions": [], "variables": [], "expressions": [{
            "name": "gpu", "place": "expressions[0].expression", "value": "false",
            "parts": [{"text": "cluster.labels.gpu", "line": 1, "column": 1, "error": "no such key: gpu"}],
        }]}]});
        let mut out = Vec::new();
        explain(&explained, &mut out).unwrap();
        expect_test::expect![[r"
            east
              expressions[0].expression gpu = false
                cluster.labels.gpu = error: no such key: gpu
        "]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }

    #[test]
    fn each_trial_has_a_line_and_one_that_fails_is_an_error() {
        let good = Trial { name: "gpu".into(), cases: 2, exports: vec!["placement-filter".into()], ..Trial::default() };
        let bad = Trial {
            name: "odd".into(),
            step: Some("check-params".into()),
            reason: Some("expressions[0]: unknown".into()),
            ..Trial::default()
        };
        let mut out = Vec::new();
        assert!(report(std::slice::from_ref(&good), &mut out).is_ok());
        assert!(matches!(report(&[good, bad], &mut out), Err(Error::WouldNotServe)));
        expect_test::expect![[r"
            gpu: would serve, 2 cases passed (exports placement-filter)
            gpu: would serve, 2 cases passed (exports placement-filter)
            odd: check-params: expressions[0]: unknown
        "]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }
}
