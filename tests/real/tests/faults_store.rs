//! The folder with the markers: lost, put back to an older copy, on a full disk, or damaged.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, eventually};
use orrery_real::{
    Bystander, Churn, Kind, Recorder, change_config_map, create_config_map, list_version, union_is_shown,
};

const SOON: Duration = Duration::from_secs(20);
const LIST: &str = "/api/v1/configmaps";

fn started(spec: HostSpec) -> Result<(Cluster, Host, Client)> {
    let east = ClusterSpec::bare("east").start()?;
    create_config_map(&east.client()?, "first")?;
    let host = spec.member(&east).start()?;
    let client = host.client()?;
    union_is_shown(&client, &[&east], Kind::ConfigMaps, SOON)?;
    Ok((east, host, client))
}

fn run(program: &str, args: &[&str]) -> Result<()> {
    let output = Command::new(program).args(args).output()?;
    ensure!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn as_text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

#[test]
fn a_lost_folder_makes_clients_list_again_and_versions_still_rise() -> Result<()> {
    let (east, mut host, client) = started(HostSpec::new())?;
    let before = list_version(&client, LIST)?;
    host.kill9()?;
    fs::remove_dir_all(host.data())?;
    change_config_map(&east.client()?, "first", "changed")?;
    host.restart()?;
    // The certificates were lost too.
    let client = host.client()?;
    let after = union_is_shown(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(after > before, "{after} after {before}");
    let mut resumed = client.lines(&format!("{LIST}?watch=1&resourceVersion={before}"))?;
    let event = resumed.next_json()?.context("a watch from a lost version says so")?;
    ensure!(event["type"] == "ERROR" && event["object"]["code"] == 410, "it says {event}");
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}

#[test]
fn an_older_copy_of_the_folder_makes_clients_list_again_at_most_and_no_version_comes_twice() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (data, copy) = (scratch.path().join("data"), scratch.path().join("copy"));
    let (east, mut host, client) = started(HostSpec::new().data(&data))?;
    let recorder = Recorder::start(&client, LIST)?;
    host.kill9()?;
    run("cp", &["-a", as_text(&data), as_text(&copy)])?;
    host.restart()?;
    let churn = Churn::start(&[&east], &[Kind::ConfigMaps], Duration::from_millis(10))?;
    std::thread::sleep(Duration::from_secs(2));
    host.kill9()?;
    fs::remove_dir_all(&data)?;
    run("cp", &["-a", as_text(&copy), as_text(&data)])?;
    host.restart()?;
    churn.stop()?;
    let recording = recorder.settle(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(recording.lists <= 2, "{} lists", recording.lists);
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}

/// A small file system of its own in memory; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)?;
        run("mount", &["-t", "tmpfs", "-o", "size=16m", "tmpfs", as_text(dir)])?;
        Ok(Self(dir.to_owned()))
    }

    /// Writes until nothing more fits, and gives the file that takes the space.
    fn fill(&self) -> Result<PathBuf> {
        let path = self.0.join("filler");
        let mut file = File::create(&path)?;
        while file.write_all(&[0; 4096]).is_ok() {}
        Ok(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Err(error) = run("umount", &["-l", as_text(&self.0)]) {
            eprintln!("{error:#}");
        }
    }
}

#[test]
fn a_full_disk_holds_up_what_is_new_until_there_is_room_and_nothing_else() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let disk = SmallDisk::mount(&scratch.path().join("disk"))?;
    let (east, mut host, client) = started(HostSpec::new().data(&disk.0.join("data")))?;
    let recorder = Recorder::start(&client, LIST)?;
    let filler = disk.fill()?;
    let bystander = Bystander::start(&mut host, &[LIST, "/readyz", "/apis", "/metrics"])?;
    let churn = Churn::start(&[&east], &[Kind::ConfigMaps], Duration::from_millis(5))?;
    std::thread::sleep(Duration::from_secs(4));
    churn.stop()?;
    bystander.finish(&host)?;
    ensure!(host.log().contains("append failed"), "the disk was never full for the store");
    fs::remove_file(filler)?;
    let recording = recorder.settle(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(recording.lists == 1, "{} lists", recording.lists);
    // What was told while the disk was full is known after a kill.
    let filler = disk.fill()?;
    create_config_map(&east.client()?, "told-or-not")?;
    std::thread::sleep(Duration::from_millis(500));
    host.kill9()?;
    fs::remove_file(filler)?;
    host.restart()?;
    let recording = recorder.settle(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(recording.lists == 1, "{} lists", recording.lists);
    drop(host);
    Ok(())
}

#[test]
fn a_damaged_file_is_refused_with_the_command_that_sets_it_aside() -> Result<()> {
    let (east, mut host, client) = started(HostSpec::new())?;
    let before = list_version(&client, LIST)?;
    host.kill9()?;
    let store = host.data().join("markers.redb");
    let length = fs::metadata(&store)?.len();
    let mut file = File::options().write(true).open(&store)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&vec![0x5a; usize::try_from(length)?])?;
    drop(file);
    host.process().restart()?;
    eventually("the host refuses", SOON, || {
        ensure!(host.process().check_running().is_err(), "it runs");
        Ok(())
    })?;
    let log = host.log();
    let command = log.rsplit_once("run: ").map(|(_, rest)| rest.lines().next().unwrap_or_default().trim());
    let command = command.with_context(|| format!("it names a command:\n{log}"))?;
    ensure!(command.starts_with("mv ") && command.contains("markers.redb"), "it names {command:?}");
    ensure!(fs::metadata(&store)?.len() == length, "the file was touched");
    run("sh", &["-c", command])?;
    host.restart()?;
    let after = union_is_shown(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(after > before, "{after} after {before}");
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}
