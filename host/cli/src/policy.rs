use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use orrery_api::status::{TRY_PATH, Trial};

use crate::data::DataArgs;
use crate::host::Host;
use crate::{Environment, Error};

/// A command of `orrery policy`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum PolicyCommand {
    /// Check the rules of a file: their expressions, names and types, and their tests
    #[command(visible_alias = "check")]
    Test(FileArgs),
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
        let Self::Test(FileArgs { file, data }) = self;
        let host = Host::find(&data, environment).await?;
        let trials: Vec<Trial> = host.post(TRY_PATH, "application/yaml", read(&file)?).await?;
        if trials.is_empty() {
            return Err(Error::File { path: file, problem: "it has no CelPolicy".to_owned() });
        }
        report(&trials, out)
    }
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
