use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orrery_api::YamlError;
use orrery_api::extension::Document;

use crate::runtime::{Code, CodeError};

/// Largest file of documents that is read, in bytes.
pub(crate) const BYTES_MAX: u64 = 1 << 20;

/// Largest component that is read, in bytes.
const COMPONENT_BYTES_MAX: u64 = 32 << 20;

/// Most files that a directory may have.
const FILES_MAX: usize = 1000;

/// What a file says.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Documents, each with another kind or name.
    Documents(Vec<Arc<Document>>),
    /// A component.
    Component(Box<Code>),
}

/// Files of a directory, with what tells one content from another.
pub(crate) type Listing = BTreeMap<PathBuf, Stamp>;

/// Another one means that the file is another, or has other content. The time is that of the last change of its inode,
/// which nobody can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
    bytes: u64,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read, or is no text.
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    /// It is larger than is read.
    #[error("it is larger than {BYTES_MAX} bytes; split it")]
    Large,
    /// It is not what it should be.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// It is no component.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// It has a document that another file has.
    #[error("{document} stands in {} already; give one of the two another name, or delete it", other.display())]
    Taken {
        /// The document.
        document: String,
        /// The other file.
        other: PathBuf,
    },
}

/// The files of `directory` that are extensions: `*.yaml`, `*.yml` and `*.wasm`, but none whose name begins with a dot.
pub(crate) fn list(directory: &Path) -> io::Result<Listing> {
    let mut listing = Listing::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if !is_extension(&path) {
            continue;
        }
        // It may be gone since, or be a link to nothing.
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_file() {
            listing.insert(path, Stamp::of(&metadata));
        }
        if listing.len() > FILES_MAX {
            return Err(io::Error::other(format!(
                "it has more than {FILES_MAX} files; write more policies into one file"
            )));
        }
    }
    Ok(listing)
}

/// What the file at `path` says.
pub(crate) fn read(path: &Path) -> Result<Content, FileError> {
    let file = File::open(path).map_err(FileError::Read)?;
    if is_component(path) {
        let mut bytes = Vec::new();
        file.take(COMPONENT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(FileError::Read)?;
        return Ok(Content::Component(Box::new(Code::read(&bytes)?)));
    }
    let mut text = String::new();
    file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(FileError::Read)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(FileError::Large);
    }
    Ok(Content::Documents(Document::parse(&text)?.into_iter().map(Arc::new).collect()))
}

fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "wasm")
}

// === impl Content ===

impl Content {
    /// Its documents; a component has none.
    pub(crate) fn documents(&self) -> &[Arc<Document>] {
        match self {
            Self::Documents(documents) => documents,
            Self::Component(_) => &[],
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Documents(Vec::new())
    }
}

// === impl Stamp ===

impl Stamp {
    /// Whether it is of the same file, if of another content.
    pub(crate) fn is_file_of(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            bytes: metadata.len(),
        }
    }
}

fn is_extension(path: &Path) -> bool {
    let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    !is_hidden && path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml" || ending == "wasm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_files_are_listed_and_others_are_not() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "b.yml", ".c.yaml", "d.json", "e.yaml~", "yaml", "i.wasm"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        fs::create_dir(dir.path().join("f.yaml")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("g.yaml")).unwrap();
        std::os::unix::fs::symlink("d.json", dir.path().join("h.yaml")).unwrap();
        let listing = list(dir.path()).unwrap();
        let names: Vec<_> = listing.keys().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a.yaml", "b.yml", "h.yaml", "i.wasm"]);
    }

    #[test]
    fn another_content_has_another_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.yaml");
        fs::write(&path, "a").unwrap();
        let first = list(dir.path()).unwrap();
        assert_eq!(list(dir.path()).unwrap(), first);
        fs::write(dir.path().join("new"), "b").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert_ne!(list(dir.path()).unwrap(), first);
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.yaml");
        let comment = |bytes: u64| format!("#{}", " ".repeat(usize::try_from(bytes).unwrap() - 1));
        fs::write(&path, comment(BYTES_MAX)).unwrap();
        assert!(read(&path).unwrap().documents().is_empty());
        fs::write(&path, comment(BYTES_MAX + 1)).unwrap();
        assert!(matches!(read(&path), Err(FileError::Large)));
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(read(&path), Err(FileError::Read(_))));
        assert!(matches!(read(&dir.path().join("none.yaml")), Err(FileError::Read(_))));
    }
}
