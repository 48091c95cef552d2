//! Files that are whole or absent.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It could not be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It could not be written.
    #[error("failed to write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Who may read a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// Its owner: mode 0600.
    Owner,
    /// Everybody: mode 0644.
    All,
}

/// The content of `path`; nothing where there is no such file.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileError::Read { path: path.to_owned(), source }),
    }
}

/// The content of `path`, which must be there.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(|source| FileError::Read { path: path.to_owned(), source })
}

/// Writes `path` so that after a crash either the old content or the new stands there, and both are durable.
pub(crate) fn write(path: &Path, content: &[u8], access: Access) -> Result<(), FileError> {
    replace(path, content, access).map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// Makes the folder `path` for its owner alone (mode 0700), if it is not there.
pub(crate) fn make_folder(path: &Path) -> Result<(), FileError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| FileError::Write { path: path.to_owned(), source })
}

fn replace(path: &Path, content: &[u8], access: Access) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let mode = match access {
        Access::Owner => 0o600,
        Access::All => 0o644,
    };
    // One left by a crash may have another mode, so it is never written into.
    fs::remove_file(&beside)
        .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_private_file_is_its_owners_alone_also_where_a_readable_one_stood() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write(&path, b"old", Access::All).unwrap();
        write(&path, b"new", Access::Owner).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn an_error_names_the_file() {
        let error = read(Path::new("/nowhere/key")).unwrap_err();
        assert_eq!(error.to_string(), "failed to read /nowhere/key");
        assert!(read_if_there(Path::new("/nowhere/key")).unwrap().is_none());
    }
}
