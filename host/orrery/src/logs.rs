//! Where logs go: standard error, as text or JSON.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::Context as _;
use orrery_api::config::LogFormat;
use orrery_cli::Settings;
use tracing_subscriber::EnvFilter;

pub(crate) fn begin(settings: &Settings) -> anyhow::Result<()> {
    let level = &settings.log_level;
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("log level {level:?} is no filter; write info, or info,orrery_fleet=debug"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match settings.log_format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}

/// Says why a command failed, each cause once, where its user looks for it.
#[expect(clippy::needless_pass_by_value, reason = "a result gives its error away")]
pub(crate) fn failed(error: anyhow::Error) -> ExitCode {
    eprintln!("orrery: {error:#}");
    ExitCode::FAILURE
}
