use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use orrery_api::extension::Document;

use crate::file::{self, Listing};
use crate::registry::Wanted;
use crate::set::FileSet;
use crate::{FileError, Metrics, Policies, Registry};

/// The directory of `--extensions`, as it was read last.
pub struct Extensions {
    directory: PathBuf,
    /// What was there at the last look.
    seen: Listing,
    /// What of it was read.
    read: Listing,
    /// In how many looks each file has stayed as it is.
    stayed: BTreeMap<PathBuf, u32>,
    /// Whether the last look failed.
    is_unreadable: bool,
    files: FileSet,
    policies: Policies,
    registry: Registry,
    metrics: Metrics,
}

/// Why a host cannot start with a directory.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be listed.
    #[error("extensions directory {} cannot be read; make it, or name another one with --extensions", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file in it cannot be used.
    #[error("extension file {} cannot be used", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why, and what to do.
        #[source]
        source: FileError,
    },
}

/// How often the directory is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Looks in which a file has to stay as it is before it is read, so that one that is being written is not read by half.
/// Another file in the place of one that was read, as editors, `mv` and ConfigMaps put it there, is whole at once: of it one
/// look is enough.
const QUIET_LOOKS: u32 = 5;

// === impl Extensions ===

impl Extensions {
    /// Reads `directory`, all of whose documents must be right. Its components are loaded by [`Self::follow`].
    ///
    /// # Errors
    /// The first document that is not right, with the line.
    pub fn open(directory: &Path, registry: Registry, metrics: Metrics) -> Result<Self, OpenError> {
        let fail = |source| OpenError::Directory { directory: directory.to_owned(), source };
        let listing = file::list(directory).map_err(fail)?;
        let mut files = FileSet::default();
        for path in listing.keys() {
            files.say(path, file::read(path));
        }
        files.settle();
        if let Some((file, source)) = files.take_refused_document() {
            return Err(OpenError::File { file, source });
        }
        let extensions = Self {
            directory: directory.to_owned(),
            seen: listing.clone(),
            read: listing,
            stayed: BTreeMap::new(),
            is_unreadable: false,
            files,
            policies: Policies::asking(registry.clone()),
            registry,
            metrics,
        };
        let all = extensions.read.keys().cloned().collect();
        extensions.report(&all);
        extensions.registry.know(&extensions.publish());
        info!(directory = %directory.display(), policies = extensions.policies.all().len(), "extensions read");
        Ok(extensions)
    }

    /// The policies of now and later.
    pub fn policies(&self) -> Policies {
        self.policies.clone()
    }

    /// Follows the directory until `stop`: what is written there is used within two seconds.
    pub async fn follow(mut self, stop: CancellationToken) {
        self.registry.offer(self.registry.wanted(&self.files));
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = looks.tick() => {}
            }
            let looked = spawn_blocking(move || {
                let wanted = self.look();
                (self, wanted)
            });
            match looked.await {
                Ok((extensions, wanted)) => {
                    self = extensions;
                    if let Some(wanted) = wanted {
                        self.registry.know(&wanted);
                        self.registry.offer(wanted);
                    }
                }
                Err(error) => {
                    error!(%error, "extensions are no longer followed: restart the host to have changes of them");
                    return;
                }
            }
        }
    }

    /// What the files ask for now, if one of them changed.
    fn look(&mut self) -> Option<Wanted> {
        let listing = match file::list(&self.directory) {
            Ok(listing) => listing,
            Err(error) => {
                self.cannot_be_read(&error);
                return None;
            }
        };
        self.is_unreadable = false;
        let before = mem::replace(&mut self.seen, listing);
        let changed = self.settled(&before);
        if changed.is_empty() {
            return None;
        }
        changed.iter().for_each(|path| self.take(path));
        self.files.settle();
        self.report(&changed);
        Some(self.publish())
    }

    /// The files that are not what was read of them, and have stayed so for long enough; `before` is the look before.
    fn settled(&mut self, before: &Listing) -> BTreeSet<PathBuf> {
        let paths: BTreeSet<PathBuf> = self.seen.keys().chain(self.read.keys()).cloned().collect();
        let mut settled = BTreeSet::new();
        self.stayed.retain(|path, _| paths.contains(path));
        for path in paths {
            let (now, read) = (self.seen.get(&path), self.read.get(&path));
            let stayed = self.stayed.entry(path.clone()).or_default();
            *stayed = if now == before.get(&path) { *stayed + 1 } else { 0 };
            let is_put_in_place = matches!((now, read), (Some(now), Some(read)) if !now.is_file_of(read));
            let looks = if is_put_in_place { 1 } else { QUIET_LOOKS };
            if now != read && *stayed >= looks {
                settled.insert(path);
            }
        }
        settled
    }

    fn take(&mut self, path: &Path) {
        match self.seen.get(path) {
            Some(stamp) => {
                self.read.insert(path.to_owned(), *stamp);
                self.files.say(path, file::read(path));
            }
            None => {
                self.read.remove(path);
                self.files.remove(path);
            }
        }
    }

    /// Says what became of the files that changed.
    fn report(&self, changed: &BTreeSet<PathBuf>) {
        for (path, reason) in self.files.refused().filter(|(path, _)| changed.contains(*path)) {
            self.metrics.failed();
            let reason = chain(reason);
            error!(file = %path.display(), reason, "extension file cannot be used: what it said before goes on");
        }
        for path in changed.iter().filter(|path| !self.files.refused().any(|(refused, _)| refused == path.as_path())) {
            let what = if self.read.contains_key(path) { "extension file read" } else { "extension file is gone" };
            info!(file = %path.display(), "{what}");
        }
    }

    /// Uses the policies, and says which extensions the files ask for.
    fn publish(&self) -> Wanted {
        let policy = |document: &Arc<Document>| match &**document {
            Document::Placement(policy) => Some(Arc::new(policy.clone())),
            Document::Plugin(_) | Document::Cel(_) => None,
        };
        let policies: Vec<_> = self.files.documents().filter_map(policy).collect();
        let refused = self.files.refused().count();
        self.metrics.in_use(self.files.len() - refused, refused, policies.len());
        self.policies.set(policies);
        self.registry.wanted(&self.files)
    }

    /// Nothing changes; said once.
    fn cannot_be_read(&mut self, error: &io::Error) {
        if !mem::replace(&mut self.is_unreadable, true) {
            self.metrics.failed();
            let directory = self.directory.display();
            error!(%directory, %error, "extensions directory cannot be read: extensions stay as they are");
        }
    }
}

/// `error` and its causes.
fn chain(error: &FileError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
