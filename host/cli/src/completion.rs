use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{Cli, Error};

/// Flags of `orrery completion`.
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionArgs {
    /// The shell
    shell: Shell,
}

// === impl CompletionArgs ===

impl CompletionArgs {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<(), Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "orrery", &mut script);
        out.write_all(&script).map_err(Error::Print)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_has_a_script_that_knows_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
            let mut script = Vec::new();
            CompletionArgs { shell }.run(&mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("kubeconfig") && script.contains("cache-bytes-max"), "{shell}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
