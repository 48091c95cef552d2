//! The user's kubeconfig, written as client-go's tools write it: beside a lock, and whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::merge;
use crate::{Environment, Error};

/// The file that kubectl would write: of `KUBECONFIG` the first that is there, and where none is, the last; else
/// `~/.kube/config`.
pub(super) fn target(environment: &Environment) -> Result<PathBuf, Error> {
    let listed: Vec<PathBuf> = environment.get("KUBECONFIG").map_or_else(Vec::new, |paths| {
        std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect()
    });
    let home = || environment.get("HOME").map(|home| Path::new(&home).join(".kube/config"));
    let there = listed.iter().find(|path| path.exists()).or(listed.last()).cloned();
    there.or_else(home).ok_or(Error::NoTarget)
}

/// Merges `kubeconfig` into the file `path`, which is made where it is not there; returns the file written, which is
/// another where `path` is a link.
pub(super) fn merge_into(path: &Path, kubeconfig: &Value) -> Result<PathBuf, Error> {
    let failed = |source| Error::WriteKubeconfig { path: path.to_owned(), source };
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let lock = Lock::take(&path)?;
    let (text, mode) = match fs::read_to_string(&path) {
        Ok(text) => (text, fs::metadata(&path).map_err(failed)?.permissions().mode() & 0o777),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (String::new(), 0o600),
        Err(source) => return Err(Error::ReadKubeconfig { path, source }),
    };
    let refused = |reason| Error::NoKubeconfig { path: path.clone(), reason };
    let mut document = merge::parse(&text).map_err(refused)?;
    merge::merge(&mut document, kubeconfig);
    let text = merge::render(&document).map_err(refused)?;
    replace(&path, text.as_bytes(), mode).map_err(failed)?;
    drop(lock);
    Ok(path)
}

/// The file beside a kubeconfig that client-go's writers make while they write.
struct Lock(PathBuf);

// === impl Lock ===

impl Lock {
    fn take(path: &Path) -> Result<Self, Error> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&lock) {
            Ok(_) => Ok(Self(lock)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::Locked { path: path.to_owned(), lock })
            }
            Err(source) => Err(Error::WriteKubeconfig { path: path.to_owned(), source }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Nothing can be done about a lock that stays; the next command names it.
        let _ = fs::remove_file(&self.0);
    }
}

fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(content)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))?.sync_all()
}
