use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A data directory held by this process, and by no other, as long as this value lives.
///
/// The hold is a lock on the file `host.pid` in it, which the system lets go when the process ends, however it ends.
/// The file also says which process holds it, and stays behind.
#[derive(Debug)]
pub struct DirLock {
    dir: PathBuf,
    _file: File,
}

/// Why a data directory cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum DirLockError {
    /// Another process holds it.
    #[error(
        "directory {} is in use by another host (pid {}); end it, or give this one a directory of its own with --data",
        dir.display(),
        pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string())
    )]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// The process, where its file can be read.
        pid: Option<u32>,
    },
    /// It cannot be made, or its lock file cannot be opened, locked or written.
    #[error("failed to use directory {} for data", dir.display())]
    Unusable {
        /// The directory.
        dir: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

// === impl DirLock ===

impl DirLock {
    /// Name of the lock file in the directory.
    pub const FILE: &str = "host.pid";

    /// Holds `dir`, which is made (for its owner alone) where it does not exist.
    ///
    /// # Errors
    /// Where another process holds it, or it cannot be used.
    pub fn take(dir: &Path) -> Result<Self, DirLockError> {
        let unusable = |source| DirLockError::Unusable { dir: dir.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unusable)?;
        let path = dir.join(Self::FILE);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => write_pid(&mut file).map_err(unusable)?,
            Err(TryLockError::WouldBlock) => {
                return Err(DirLockError::InUse { dir: dir.to_owned(), pid: read_pid(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        Ok(Self { dir: dir.to_owned(), _file: file })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// A full disk must not keep a host from starting on the log that it has: the pid is told where it can be.
fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    match file.write_all(format!("{}\n", std::process::id()).as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Ok(()),
        written => written,
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_hold_is_refused_with_the_pid_of_the_first_until_that_ends() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("a/b");
        let first = DirLock::take(&dir).unwrap();
        let error = DirLock::take(&dir).unwrap_err();
        assert!(matches!(error, DirLockError::InUse { pid: Some(pid), .. } if pid == std::process::id()), "{error}");
        drop(first);
        DirLock::take(&dir).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = DirLock::take(&file.join("dir")).unwrap_err();
        assert!(error.to_string().contains("file/dir"), "{error}");
    }
}
