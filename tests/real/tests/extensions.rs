//! Policies as files of `--extensions`, followed by a running host.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{ClusterSpec, Host, HostSpec, eventually};

const SOON: Duration = Duration::from_secs(15);

fn write(folder: &Path, file: &str, stages: &str) -> Result<()> {
    let policy = format!(
        "apiVersion: orrery.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {{name: {file}}}\nspec: {{{stages}}}\n"
    );
    Ok(fs::write(folder.join(format!("{file}.yaml")), policy)?)
}

fn shows(host: &Host, series: &str) -> Result<()> {
    let metrics = host.client()?.get("/metrics")?.text();
    ensure!(metrics.lines().any(|line| line == series), "no {series:?} in:\n{metrics}");
    Ok(())
}

#[test]
fn policies_are_followed_and_a_wrong_one_is_refused_while_the_host_runs_and_at_its_start() -> Result<()> {
    let east = ClusterSpec::bare("east").start()?;
    let folder = tempfile::tempdir()?;
    write(folder.path(), "first", "stages: [{stage: taints}]")?;
    let flag = format!("--extensions={}", folder.path().display());
    let mut host = HostSpec::new().member(&east).flag(&flag).start()?;
    shows(&host, "orrery_extensions_policies 1")?;

    write(folder.path(), "second", "stages: [{stage: spread}]")?;
    eventually("the new policy is in use", SOON, || shows(&host, "orrery_extensions_policies 2"))?;
    write(folder.path(), "second", "stges: []")?;
    eventually("the wrong file is refused", SOON, || shows(&host, "orrery_extensions_files{state=\"refused\"} 1"))?;
    shows(&host, "orrery_extensions_policies 2")?;
    let log = host.log();
    ensure!(log.contains("unknown key `stges`; did you mean `stages`?"), "{log}");

    host.kill9()?;
    ensure!(host.restart().is_err(), "a wrong file is an error at the start");
    let log = host.log();
    ensure!(log.contains("second.yaml cannot be used: line 4, column 8: unknown key `stges`"), "{log}");
    write(folder.path(), "second", "stages: [{stage: spread}]")?;
    host.restart()?;
    shows(&host, "orrery_extensions_policies 2")
}
