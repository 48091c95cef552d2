use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Process, Program, eventually, require};
use tempfile::TempDir;

/// A program in a terminal of tmux, which has a server of its own. Dropping it ends both.
#[derive(Debug)]
pub struct Terminal {
    socket: PathBuf,
    _server: Process,
    _scratch: TempDir,
}

const SOON: Duration = Duration::from_secs(30);
const COLUMNS: &str = "160";
const LINES: &str = "40";

// === impl Terminal ===

impl Terminal {
    /// Starts `program` with these arguments, and variables beside those of this process.
    pub fn start(program: &Path, args: &[&str], env: &[(&str, &Path)]) -> Result<Self> {
        require(&[("tmux", "apt-get install tmux")])?;
        let scratch = tempfile::tempdir()?;
        let socket = scratch.path().join("socket");
        // In the foreground, so that it ends with this process however that ends.
        let server = Program::new("tmux", scratch.path().join("log")).args(["-D", "-f", "/dev/null", "-S"]);
        let server = env.iter().fold(server.args([&socket]), |server, (key, value)| server.env(key, value)).start()?;
        let terminal = Self { socket, _server: server, _scratch: scratch };
        let mut start = vec!["new-session", "-d", "-x", COLUMNS, "-y", LINES, "--"];
        start.push(program.to_str().context("its path is text")?);
        start.extend(args);
        eventually("tmux has begun", SOON, || terminal.tmux(&start))?;
        // What it showed last can then be read after it has ended, too.
        terminal.tmux(&["set-option", "-g", "remain-on-exit", "on"])?;
        Ok(terminal)
    }

    /// Presses keys, by tmux's names for them (`Enter`, `Escape`, `C-d`); other words are typed letter by letter.
    pub fn press(&self, keys: &[&str]) -> Result<()> {
        self.tmux(&[&["send-keys"], keys].concat()).map(drop)
    }

    /// What it shows, line by line.
    pub fn screen(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until what it shows is as `check` wants it.
    pub fn until(&self, what: &str, mut check: impl FnMut(&str) -> bool) -> Result<()> {
        eventually(what, SOON, || {
            let screen = self.screen()?;
            ensure!(check(&screen), "it shows\n{}", screen.trim_end());
            Ok(())
        })
    }

    fn tmux(&self, args: &[&str]) -> Result<String> {
        // Without `-N` it would begin a server itself, which would outlive this process.
        let output = Command::new("tmux").args(["-N", "-S"]).arg(&self.socket).args(args).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "tmux {}: {}", args.join(" "), said.trim_end());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
