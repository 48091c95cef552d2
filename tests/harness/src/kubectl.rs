use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{Process, Program};

/// kubectl with one kubeconfig: 1.37 where no other is asked for.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
}

/// What a command printed, and its exit code (-1: ended by a signal).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Standard output.
    pub stdout: String,
    /// Standard error, where kubectl also prints `Warning:` lines.
    pub stderr: String,
    /// Exit code.
    pub code: i32,
}

// === impl Kubectl ===

impl Kubectl {
    pub(crate) fn new(program: &Path, kubeconfig: &Path, cache: &Path) -> Self {
        Self { program: program.to_owned(), kubeconfig: kubeconfig.to_owned(), cache: cache.to_owned() }
    }

    /// Another kubectl with the same kubeconfig and a cache of its own.
    pub fn another(&self, program: &Path) -> Self {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let cache = self.cache.with_extension(format!("of-{name}"));
        Self { program: program.to_owned(), kubeconfig: self.kubeconfig.clone(), cache }
    }

    /// Path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs it and gives what it printed, whether it succeeded or not.
    pub fn run(&self, args: &[&str]) -> Result<Printed> {
        self.run_with_input(args, "")
    }

    /// Runs it; an error with what it printed if it fails. Gives its standard output.
    pub fn ok(&self, args: &[&str]) -> Result<String> {
        expect_success(args, self.run(args)?)
    }

    /// `kubectl apply --server-side -f -` of `manifest`, YAML or JSON.
    pub fn apply(&self, manifest: &str) -> Result<String> {
        let args = ["apply", "--server-side", "-f", "-"];
        expect_success(&args, self.run_with_input(&args, manifest)?)
    }

    /// Runs it with `input` on its standard input.
    pub fn run_with_input(&self, args: &[&str], input: &str) -> Result<Printed> {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("failed to start kubectl")?;
        let mut stdin = child.stdin.take().expect("it was asked to be piped");
        // A kubectl that does not read its input closes it early; what it then says is in its outputs.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output()?;
        Ok(Printed {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        })
    }

    /// Starts it and lets it run, as for `get -w`; both its outputs go to the file `log`.
    pub fn start(&self, args: &[&str], log: &Path) -> Result<Process> {
        Program::new(&self.program, log)
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            .start()
    }

    /// The command with its environment set, for whoever wants pipes of their own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env("KUBECONFIG", &self.kubeconfig).env("KUBECACHEDIR", &self.cache);
        command
    }
}

fn expect_success(args: &[&str], printed: Printed) -> Result<String> {
    if printed.code != 0 {
        bail!("kubectl {} ended with {}: {}{}", args.join(" "), printed.code, printed.stdout, printed.stderr);
    }
    Ok(printed.stdout)
}
