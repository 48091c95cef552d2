use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orrery_api::extension::Document;

use crate::FileError;
use crate::file::Content;

/// The files of a directory: what each says now, and what of it is used. No two of them use one document's name.
#[derive(Debug, Default)]
pub(crate) struct FileSet(BTreeMap<PathBuf, File>);

#[derive(Debug, Default)]
struct File {
    /// What was read last, where that was a content.
    said: Option<Content>,
    /// What is used: the same, or an earlier one.
    used: Content,
    /// Why it is not the same.
    refused: Option<FileError>,
}

// === impl FileSet ===

impl FileSet {
    /// `path` was read again.
    pub(crate) fn say(&mut self, path: &Path, read: Result<Content, FileError>) {
        let file = self.0.entry(path.to_owned()).or_default();
        (file.said, file.refused) = match read {
            Ok(content) => (Some(content), None),
            Err(error) => (None, Some(error)),
        };
    }

    /// `path` is no longer there.
    pub(crate) fn remove(&mut self, path: &Path) {
        self.0.remove(path);
    }

    /// Uses what all files say now, but of those that cannot be read, or take a name that another one uses, what they said
    /// before.
    pub(crate) fn settle(&mut self) {
        let mut keeping = BTreeMap::new();
        while let Some((path, error)) = self.clash(&keeping) {
            if keeping.insert(path, error).is_some() {
                break;
            }
        }
        for (path, file) in &mut self.0 {
            let Some(said) = &file.said else { continue };
            file.refused = keeping.remove(path);
            if file.refused.is_none() {
                file.used.clone_from(said);
            }
        }
    }

    /// What is used, by file.
    pub(crate) fn used(&self) -> impl Iterator<Item = (&Path, &Content)> {
        self.0.iter().map(|(path, file)| (path.as_path(), &file.used))
    }

    /// All documents that are used.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.used().flat_map(|(_, content)| content.documents())
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The files that are not used as they stand.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (&Path, &FileError)> {
        self.0.iter().filter_map(|(path, file)| Some((path.as_path(), file.refused.as_ref()?)))
    }

    /// The first of [`Self::refused`] that is no component, with its reason given away.
    pub(crate) fn take_refused_document(&mut self) -> Option<(PathBuf, FileError)> {
        let is_document = |(_, file): &(&PathBuf, &mut File)| !matches!(file.refused, Some(FileError::Code(_)));
        self.0.iter_mut().filter(is_document).find_map(|(path, file)| Some((path.clone(), file.refused.take()?)))
    }

    /// The first that would take a name that another has, if those of `keeping` keep what they use.
    fn clash(&self, keeping: &BTreeMap<PathBuf, FileError>) -> Option<(PathBuf, FileError)> {
        let mut taken: BTreeMap<String, &Path> = BTreeMap::new();
        for (path, file) in &self.0 {
            let next = file.said.as_ref().filter(|_| !keeping.contains_key(path)).unwrap_or(&file.used);
            for document in next.documents() {
                match taken.entry(document.to_string()) {
                    Entry::Vacant(entry) => drop(entry.insert(path)),
                    Entry::Occupied(entry) => return Some(self.newcomer(document, entry.get(), path)),
                }
            }
        }
        None
    }

    /// Which of two files has to wait for `document`: the one that did not use it before; the later of two that did not.
    fn newcomer(&self, document: &Document, first: &Path, second: &Path) -> (PathBuf, FileError) {
        let document = document.to_string();
        let is_used = self.0.get(second).is_some_and(|file| file.uses(&document));
        let (path, other) = if is_used { (first, second) } else { (second, first) };
        (path.to_owned(), FileError::Taken { document, other: other.to_owned() })
    }
}

// === impl File ===

impl File {
    fn uses(&self, document: &str) -> bool {
        self.used.documents().iter().any(|used| used.to_string() == document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A content with policies of these names.
    fn content(names: &[&str]) -> Content {
        let text = |name: &&str| {
            format!(
                "---\napiVersion: orrery.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {{name: {name}}}\n\
                 spec: {{stages: [{{stage: taints}}]}}\n"
            )
        };
        let documents = Document::parse(&names.iter().map(text).collect::<String>()).unwrap();
        Content::Documents(documents.into_iter().map(Arc::new).collect())
    }

    fn used(set: &FileSet) -> String {
        let name = |document: &Arc<Document>| document.to_string().replace("ClusterPlacementPolicy ", "");
        set.documents().map(name).collect::<Vec<_>>().join(" ")
    }

    /// What is used once these files say this, and which are refused.
    fn settle(set: &mut FileSet, said: &[(&str, &[&str])]) -> (String, Vec<String>) {
        for (path, names) in said {
            set.say(Path::new(path), Ok(content(names)));
        }
        set.settle();
        (used(set), set.refused().map(|(path, error)| format!("{}: {error}", path.display())).collect())
    }

    #[test]
    fn a_file_that_cannot_be_read_keeps_what_it_said_before() {
        let mut set = FileSet::default();
        assert_eq!(settle(&mut set, &[("a", &["x"]), ("b", &["y"])]), ("x y".to_owned(), vec![]));
        set.say(Path::new("a"), Err(FileError::Large));
        set.say(Path::new("c"), Err(FileError::Large));
        set.settle();
        let refused: Vec<_> = set.refused().map(|(path, _)| path.display().to_string()).collect();
        assert_eq!((used(&set), refused), ("x y".to_owned(), vec!["a".to_owned(), "c".to_owned()]));
        set.remove(Path::new("c"));
        assert_eq!(settle(&mut set, &[("a", &["z"])]), ("z y".to_owned(), vec![]));
        set.remove(Path::new("b"));
        assert_eq!(settle(&mut set, &[]), ("z".to_owned(), vec![]));
    }

    #[test]
    fn a_name_stays_with_the_file_that_has_it() {
        let mut set = FileSet::default();
        settle(&mut set, &[("b", &["x"])]);
        let (used, refused) = settle(&mut set, &[("a", &["v", "x"]), ("c", &["w", "x"])]);
        assert_eq!(used, "x");
        let says = |file: &str| {
            format!(
                "{file}: ClusterPlacementPolicy x stands in b already; give one of the two another name, or delete it"
            )
        };
        assert_eq!(refused, [says("a"), says("c")]);
    }

    #[test]
    fn of_two_new_files_the_earlier_has_the_name_and_the_later_once_that_is_gone() {
        let mut set = FileSet::default();
        let (used, refused) = settle(&mut set, &[("a", &["x"]), ("b", &["x", "y"])]);
        assert_eq!((used.as_str(), refused.len()), ("x", 1));
        set.remove(Path::new("a"));
        assert_eq!(settle(&mut set, &[]), ("x y".to_owned(), vec![]));
    }

    #[test]
    fn a_policy_may_move_from_one_file_to_another_and_two_may_be_exchanged() {
        let mut set = FileSet::default();
        settle(&mut set, &[("a", &["x", "z"]), ("b", &["y"])]);
        assert_eq!(settle(&mut set, &[("a", &["z"]), ("b", &["x", "y"])]), ("z x y".to_owned(), vec![]));
        assert_eq!(settle(&mut set, &[("a", &["y"]), ("b", &["x", "z"])]), ("y x z".to_owned(), vec![]));
    }

    #[test]
    fn one_that_keeps_what_it_said_may_make_another_wait() {
        let mut set = FileSet::default();
        settle(&mut set, &[("a", &["x"]), ("b", &["y"]), ("c", &["z"])]);
        // `b` cannot have z, so it keeps y, which `a` then cannot have.
        let (used, refused) = settle(&mut set, &[("a", &["y"]), ("b", &["z"])]);
        assert_eq!((used.as_str(), refused.len()), ("x y z", 2));
    }
}
