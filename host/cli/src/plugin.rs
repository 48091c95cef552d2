use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use orrery_api::extension::ExtensionKind;
use orrery_api::status::{EXTENSIONS_PATH, ExtensionLogs, ExtensionStatus, Extensions, Replay, TRY_PATH, Trial};

use crate::columns::Columns;
use crate::data::DataArgs;
use crate::host::Host;
use crate::policy::{FileArgs, read, report};
use crate::{Environment, Error};

/// A command of `orrery plugin`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum PluginCommand {
    /// Show all plugins and rules
    List(ListArgs),
    /// Show one, with why its newest revision does not serve
    Show(Named),
    /// Print what one wrote
    Logs(Named),
    /// Put the generation before back
    Rollback(Named),
    /// See whether a component would serve, with its golden cases
    #[command(visible_alias = "test")]
    Check(FileArgs),
    /// Ask another component what a plugin was asked, and list which answers change
    Replay(ReplayArgs),
}

/// Flags of `orrery plugin list`.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    data: DataArgs,
}

/// Flags of `orrery plugin replay`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReplayArgs {
    /// The plugin whose decisions are asked again
    name: String,
    /// The other component
    file: PathBuf,
    /// How far back, as 90s, 15m or 24h
    #[arg(long, default_value = "24h", value_parser = seconds)]
    since: u64,
    #[command(flatten)]
    data: DataArgs,
}

/// Which extension.
#[derive(Clone, Debug, clap::Args)]
pub struct Named {
    /// Its name
    name: String,
    /// It is a rule in CEL, not a plugin
    #[arg(long)]
    cel: bool,
    #[command(flatten)]
    data: DataArgs,
}

// === impl PluginCommand ===

impl PluginCommand {
    pub(crate) async fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        match self {
            Self::List(ListArgs { data }) => {
                let host = Host::find(&data, environment).await?;
                let Extensions { extensions } = host.get(EXTENSIONS_PATH).await?;
                list(&extensions, out).map_err(Error::Print)
            }
            Self::Show(named) => {
                let status = named.host(environment).await?.get(&named.path("")).await?;
                show(&status, SystemTime::now(), out).map_err(Error::Print)
            }
            Self::Logs(named) => {
                let written = named.host(environment).await?.get(&named.path("/logs")).await?;
                logs(&written, out).map_err(Error::Print)
            }
            Self::Rollback(named) => {
                let path = named.path("/rollback");
                let status = named.host(environment).await?.post(&path, "application/json", Vec::new()).await?;
                show(&status, SystemTime::now(), out).map_err(Error::Print)
            }
            Self::Check(FileArgs { file, data }) => {
                let host = Host::find(&data, environment).await?;
                let trials: Vec<Trial> = host.post(TRY_PATH, "application/wasm", read(&file)?).await?;
                report(&trials, out)
            }
            Self::Replay(ReplayArgs { name, file, since, data }) => {
                let named = Named { name, cel: false, data };
                let path = named.path(&format!("/replay?since={since}"));
                let replay = named.host(environment).await?.post(&path, "application/wasm", read(&file)?).await?;
                changed(&replay, out).map_err(Error::Print)
            }
        }
    }
}

// === impl Named ===

impl Named {
    async fn host(&self, environment: &Environment) -> Result<Host, Error> {
        Host::find(&self.data, environment).await
    }

    fn path(&self, rest: &str) -> String {
        let kind = if self.cel { ExtensionKind::CelPolicy } else { ExtensionKind::Plugin };
        format!("{}{rest}", path_of(kind, &self.name))
    }
}

/// Where the host tells of an extension. What no extension's name has is not sent: it would be another path.
pub(crate) fn path_of(kind: ExtensionKind, name: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let name: String = name.chars().filter(plain).collect();
    format!("{EXTENSIONS_PATH}/{kind}/{name}")
}

fn list(extensions: &[ExtensionStatus], out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::new(["KIND", "NAME", "STATE", "GENERATION", "CALLS", "FAULTS", "REASON"]);
    for status in extensions {
        let generation = status.generation.as_ref();
        let number = |of: fn(&orrery_api::status::GenerationStatus) -> u64| {
            generation.map(|generation| of(generation).to_string()).unwrap_or_default()
        };
        columns.row([
            status.kind.to_string(),
            status.name.clone(),
            status.state.as_str().to_owned(),
            number(|generation| generation.number),
            number(|generation| generation.calls),
            number(|generation| generation.faults),
            status.refusal.as_ref().map(|refusal| format!("{}: {}", refusal.step, refusal.reason)).unwrap_or_default(),
        ]);
    }
    columns.print(out)
}

fn show(status: &ExtensionStatus, now: SystemTime, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} {}: {}", status.kind, status.name, status.state.as_str())?;
    if let Some(generation) = &status.generation {
        let since =
            generation.since.map(|since| format!(", for {}", crate::status::age(since, now))).unwrap_or_default();
        writeln!(out, "generation {}{since}", generation.number)?;
        writeln!(out, "component  {}", generation.component)?;
        writeln!(out, "exports    {}", generation.exports.join(", "))?;
        writeln!(out, "calls      {}, {} at fault", generation.calls, generation.faults)?;
    }
    if !status.previous.is_empty() {
        let previous: Vec<_> = status.previous.iter().map(ToString::to_string).collect();
        writeln!(out, "before it  {} (orrery plugin rollback {})", previous.join(", "), status.name)?;
    }
    if let Some(refusal) = &status.refusal {
        writeln!(out, "\nits newest revision does not serve: {}: {}", refusal.step, refusal.reason)?;
    }
    Ok(())
}

fn logs(logs: &ExtensionLogs, out: &mut dyn Write) -> io::Result<()> {
    for line in &logs.lines {
        writeln!(out, "{} {} {} {}", line.generation, line.level, line.message, line.fields)?;
    }
    if logs.dropped > 0 {
        writeln!(out, "({} lines were over the bound of their call)", logs.dropped)?;
    }
    Ok(())
}

fn changed(replay: &Replay, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} decisions asked again, {} have another answer", replay.decisions, replay.changed)?;
    for moved in &replay.moved {
        writeln!(out, "\n{}\n  before  {}\n  after   {}", moved.unit, moved.before, moved.after)?;
    }
    Ok(())
}

/// A duration as people write it, in seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no duration; write it as 90s, 15m or 24h");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let each = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(each)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> ExtensionStatus {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn why_the_newest_revision_does_not_serve_is_shown() {
        let status = status(
            r#"{"kind":"Plugin","name":"cheap","state":"Stale","previous":[1],
                "generation":{"number":2,"component":"sha256:ab","exports":["lifecycle","placement-score"],"calls":7,"faults":0},
                "refusal":{"step":"self-test","reason":"case \"a\": scores is [1], and [2] was expected"}}"#,
        );
        let mut out = Vec::new();
        list(std::slice::from_ref(&status), &mut out).unwrap();
        show(&status, SystemTime::UNIX_EPOCH, &mut out).unwrap();
        expect_test::expect![[r#"
            KIND     NAME    STATE   GENERATION   CALLS   FAULTS   REASON
            Plugin   cheap   Stale   2            7       0        self-test: case "a": scores is [1], and [2] was expected
            Plugin cheap: Stale
            generation 2
            component  sha256:ab
            exports    lifecycle, placement-score
            calls      7, 0 at fault
            before it  1 (orrery plugin rollback cheap)

            its newest revision does not serve: self-test: case "a": scores is [1], and [2] was expected
        "#]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_duration_is_read_as_people_write_it() {
        assert_eq!((seconds("90s"), seconds("15m"), seconds("24h")), (Ok(90), Ok(900), Ok(86400)));
        for odd in ["", "h", "1d", "1.5h", "-1s", "99999999999999999999h", "18446744073709551615h"] {
            assert!(seconds(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_name_cannot_break_out_of_the_path() {
        let named = |name: &str, cel| Named { name: name.into(), cel, data: DataArgs::default() };
        assert_eq!(named("cheap", false).path("/logs"), "/orrery/v1/extensions/Plugin/cheap/logs");
        assert_eq!(named("../a?b", true).path(""), "/orrery/v1/extensions/CelPolicy/ab");
    }
}
