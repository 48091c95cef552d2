//! DIR, where a host keeps what it must not lose and what its clients need to find it.

use std::path::{Path, PathBuf};

use crate::Environment;

/// Neither a flag nor the environment says where DIR is.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("no data directory: give --data DIR, or set ORRERY_DATA, XDG_STATE_HOME or HOME")]
pub struct NoDataDirectory;

/// DIR where nothing says otherwise: `$XDG_STATE_HOME/orrery`, else `~/.local/state/orrery` (XDG Base Directory
/// Specification; relative paths in the variable are to be ignored).
pub(crate) fn default_directory(environment: &Environment) -> Result<PathBuf, NoDataDirectory> {
    let state = environment.get("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || environment.get("HOME").map(|home| Path::new(&home).join(".local/state"));
    state.or_else(home).map(|state| state.join("orrery")).ok_or(NoDataDirectory)
}

/// DIR of the host that a command asks.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DataArgs {
    /// Directory of the host: the one that `orrery serve --data` was given [env: ORRERY_DATA] [default:
    /// $XDG_STATE_HOME/orrery or ~/.local/state/orrery]
    #[arg(long = "data", value_name = "DIR")]
    directory: Option<PathBuf>,
}

// === impl DataArgs ===

impl DataArgs {
    /// Flag before variable before default.
    pub(crate) fn directory(&self, environment: &Environment) -> Result<PathBuf, NoDataDirectory> {
        let given = self.directory.clone().or_else(|| environment.get("ORRERY_DATA").map(PathBuf::from));
        given.map_or_else(|| default_directory(environment), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_the_flags_then_the_variables_then_the_state_homes() {
        let all = [("ORRERY_DATA", "/d"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        let found = |flag: Option<&str>, environment: &[(&str, &str)]| {
            let args = DataArgs { directory: flag.map(PathBuf::from) };
            args.directory(&Environment::of(environment)).map(|path| path.display().to_string())
        };
        assert_eq!(found(Some("/f"), &all).as_deref(), Ok("/f"));
        assert_eq!(found(None, &all).as_deref(), Ok("/d"));
        assert_eq!(found(None, &all[1..]).as_deref(), Ok("/x/orrery"));
        assert_eq!(found(None, &all[2..]).as_deref(), Ok("/h/.local/state/orrery"));
        assert_eq!(found(None, &[("XDG_STATE_HOME", "x"), ("HOME", "/h")]).as_deref(), Ok("/h/.local/state/orrery"));
        assert_eq!(found(None, &[]), Err(NoDataDirectory));
    }
}
