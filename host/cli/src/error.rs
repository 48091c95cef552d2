use std::io;
use std::path::PathBuf;

use crate::data::NoDataDirectory;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No DIR.
    #[error(transparent)]
    NoData(#[from] NoDataDirectory),
    /// DIR has no kubeconfig.
    #[error(
        "no host has served from {}: start one with `orrery serve --data {}`, or name the directory of a running one \
         with --data", data.display(), data.display()
    )]
    NoHost {
        /// DIR.
        data: PathBuf,
    },
    /// A kubeconfig cannot be read.
    #[error("failed to read kubeconfig {}", path.display())]
    ReadKubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A kubeconfig is not one.
    #[error("{} is no kubeconfig: {reason}", path.display())]
    NoKubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A kubeconfig cannot be written.
    #[error("failed to write kubeconfig {}", path.display())]
    WriteKubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody else is writing the kubeconfig.
    #[error(
        "kubeconfig {} is locked by {}: another command is writing it; if none is, remove that file",
        path.display(), lock.display()
    )]
    Locked {
        /// The kubeconfig.
        path: PathBuf,
        /// The lock's file.
        lock: PathBuf,
    },
    /// Nowhere to merge into.
    #[error("no kubeconfig to merge into: set KUBECONFIG or HOME")]
    NoTarget,
    /// The host does not answer.
    #[error(
        "the host at {server} does not answer; if it is not running, start it with `orrery serve --data {}`",
        data.display()
    )]
    NoAnswer {
        /// Where it should be.
        server: String,
        /// DIR.
        data: PathBuf,
        /// Why.
        #[source]
        source: Box<kube::Error>,
    },
    /// The host refuses.
    #[error("the host answers {code}: {message}")]
    Refused {
        /// HTTP status.
        code: u16,
        /// Its own words.
        message: String,
    },
    /// The host's answer is not what was asked for.
    #[error("the host at {server} answers {path} with something else; is it of another version than this command?")]
    Answer {
        /// Where it is.
        server: String,
        /// What was asked.
        path: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// A file that the command is about cannot be used.
    #[error("{} cannot be used: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// What was tried would not serve; the reason is printed.
    #[error("it would not serve")]
    WouldNotServe,
    /// Nobody reads what is printed.
    #[error("failed to print")]
    Print(#[source] io::Error),
}

// === impl Error ===

impl Error {
    /// Whether the reader of the output has gone, as `head` does: no failure of the command.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Print(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
