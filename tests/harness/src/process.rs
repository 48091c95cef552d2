//! Programs that the harness runs beside itself.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, mpsc};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};

use crate::wait::eventually;

/// How to run a program: all that is needed to start it, and to start it again.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    log: PathBuf,
    lifetime: Lifetime,
}

/// When a program ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// With the process that started it, even if that is killed.
    Tied,
    /// Only when it is stopped.
    Kept,
}

/// A running program. Dropping it kills it, unless its lifetime is [`Lifetime::Kept`].
#[derive(Debug)]
pub struct Process {
    program: Program,
    child: Child,
}

// === impl Program ===

impl Program {
    /// The program at `path`; both its outputs are appended to the file `log`. It reads nothing.
    pub fn new(path: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), args: Vec::new(), env: Vec::new(), log: log.into(), lifetime: Lifetime::Tied }
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets its lifetime; [`Lifetime::Tied`] if this is not called.
    pub fn lifetime(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Starts it, in a process group of its own, so that Ctrl-C in a terminal reaches only the one who started it.
    pub fn start(&self) -> Result<Process> {
        let name = self.name();
        let log = File::options().create(true).append(true).open(&self.log);
        let mut log = log.with_context(|| format!("failed to open the log {} of {name}", self.log.display()))?;
        writeln!(log, "# {} {:?}", self.path.display(), self.args)?;
        let mut command = match self.lifetime {
            Lifetime::Kept => Command::new(&self.path),
            Lifetime::Tied => {
                let mut command = Command::new("setpriv");
                command.args(["--pdeathsig", "KILL", "--"]).arg(&self.path);
                command
            }
        };
        command.args(&self.args).envs(self.env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        let child = spawn(command).with_context(|| format!("failed to start {}", self.path.display()))?;
        Ok(Process { program: self.clone(), child })
    }

    /// Path of what is run.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

// === impl Process ===

impl Process {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Path of the file that holds its outputs.
    pub fn log(&self) -> &Path {
        &self.program.log
    }

    /// How it was started.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Freezes it (SIGSTOP): it keeps its connections and answers nothing.
    pub fn pause(&self) -> Result<()> {
        signal(self.pid(), Signal::STOP)
    }

    /// Lets it go on after [`Process::pause`].
    pub fn resume(&self) -> Result<()> {
        signal(self.pid(), Signal::CONT)
    }

    /// Sends SIGHUP.
    pub fn hang_up(&self) -> Result<()> {
        signal(self.pid(), Signal::HUP)
    }

    /// Asks it to end (SIGTERM) and waits for that, for at most `limit`.
    pub fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        signal(self.pid(), Signal::TERM)?;
        eventually(&format!("{} ends after SIGTERM", self.program.name()), limit, || {
            self.child.try_wait()?.context("it still runs")
        })
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            self.child.kill()?;
        }
        self.child.wait()?;
        Ok(())
    }

    /// Starts it anew, with the same arguments. It must have ended.
    pub fn restart(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            bail!("{} still runs as process {}; kill it first", self.program.name(), self.pid());
        }
        *self = self.program.start()?;
        Ok(())
    }

    /// An error with the end of its log if it has ended.
    pub fn check_running(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let log = fs::read_to_string(&self.program.log).unwrap_or_default();
                let tail: Vec<&str> = log.lines().rev().take(15).collect();
                let tail: Vec<&str> = tail.into_iter().rev().collect();
                bail!("{} ended with {status}; the end of its log:\n{}", self.program.name(), tail.join("\n"))
            }
        }
    }

    /// Memory that it holds now: its resident set, in bytes.
    pub fn rss_bytes(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).context("failed to read its status")?;
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
        Ok(kilobytes.context("its status has no VmRSS: it has ended")?.trim().parse::<u64>()? * 1024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.program.lifetime == Lifetime::Tied {
            // Nobody is left to hear of a failure; the kernel ends it with this process at the latest.
            let _ = self.kill();
        }
    }
}

fn signal(pid: u32, signal: Signal) -> Result<()> {
    let raw = i32::try_from(pid).context("a process id is an i32")?;
    let pid = Pid::from_raw(raw).context("process 0 is not one of ours")?;
    rustix::process::kill_process(pid, signal).with_context(|| format!("failed to signal process {raw}"))
}

/// Spawns from one thread that lives as long as the process. The kernel's parent-death signal is sent when the
/// *thread* ends that spawned the child, and the test runner gives every test a thread of its own.
fn spawn(command: Command) -> io::Result<Child> {
    type Job = (Command, mpsc::SyncSender<io::Result<Child>>);
    static SPAWNER: LazyLock<mpsc::SyncSender<Job>> = LazyLock::new(|| {
        let (jobs, waiting) = mpsc::sync_channel::<Job>(0);
        thread::spawn(move || {
            for (mut command, answer) in waiting {
                // The one who asked waits for the answer, so it is there to be told.
                let _ = answer.send(command.spawn());
            }
        });
        jobs
    });
    let (answer, answered) = mpsc::sync_channel(1);
    SPAWNER.send((command, answer)).map_err(io::Error::other)?;
    answered.recv().map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(dir: &Path) -> Program {
        Program::new("sleep", dir.join("sleep.log")).args(["60"])
    }

    #[test]
    fn a_process_outlives_the_thread_that_started_it_and_ends_when_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let program = sleeper(dir.path());
        let mut process = thread::spawn(move || program.start().unwrap()).join().unwrap();
        process.check_running().unwrap();
        let pid = process.pid();
        drop(process);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_process_that_was_killed_can_be_started_again_and_one_that_runs_cannot() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = sleeper(dir.path()).start().unwrap();
        assert!(process.restart().is_err());
        process.kill().unwrap();
        assert!(process.check_running().is_err());
        process.restart().unwrap();
        process.check_running().unwrap();
        assert!(process.rss_bytes().unwrap() > 0);
    }
}
