//! The file's handle, which is opened again after it has met an error.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use orrery_markers::StoreError;
use redb::{Builder, Database, ReadTransaction, ReadableDatabase};

use super::{OpenError, tables};
use crate::Metrics;

/// The file, with the handle to it.
#[derive(Debug)]
pub(super) struct StoreFile {
    path: PathBuf,
    /// `None` after an error, until it can be opened again.
    database: RwLock<Option<Database>>,
    metrics: Metrics,
}

/// redb's own cache of pages; logs are read once, at the start.
const CACHE_BYTES: usize = 16 << 20;

// === impl StoreFile ===

impl StoreFile {
    /// Opens the file at `path`, or makes it, and verifies all of it.
    pub(super) fn open(path: PathBuf, metrics: Metrics) -> Result<Self, OpenError> {
        if !path.try_exists().map_err(|error| unusable(&path, &error.into()))? {
            create(&path)?;
        }
        let database = Some(open_verified(&path)?);
        Ok(Self { path, database: RwLock::new(database), metrics })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `what` on the handle, which is opened first where it was lost.
    pub(super) fn with<T>(&self, what: impl FnOnce(&Database) -> T) -> Result<T, StoreError> {
        {
            let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(database) = &*database {
                return Ok(what(database));
            }
        }
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if database.is_none() {
            *database = Some(self.reopen()?);
        }
        let database = database.as_ref().expect("it was opened in the lines above");
        Ok(what(database))
    }

    /// Reads from a snapshot of now, once more on a new handle where this one has failed.
    pub(super) fn read<T>(&self, what: impl Fn(&ReadTransaction) -> Result<T, redb::Error>) -> Result<T, StoreError> {
        let read = || {
            // Only beginning holds the handle: a long read must not keep it from being opened again.
            let transaction = self.with(|database| database.begin_read().map_err(redb::Error::from))?;
            Ok::<_, StoreError>(transaction.and_then(|transaction| what(&transaction)))
        };
        match read()? {
            Err(error) if is_lasting(&error) => {
                self.lose();
                read()?.map_err(|error| self.store_error(&error))
            }
            read => read.map_err(|error| self.store_error(&error)),
        }
    }

    /// Lets go of a handle that has failed.
    pub(super) fn lose(&self) {
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn store_error(&self, error: &redb::Error) -> StoreError {
        match error {
            redb::Error::Corrupted(reason) => StoreError::Corrupt(corrupt(&self.path, reason).to_string()),
            error => other_error(error),
        }
    }

    fn reopen(&self) -> Result<Database, StoreError> {
        let database = open_verified(&self.path).map_err(|error| match error {
            OpenError::Unusable { source, .. } => source,
            error => StoreError::Corrupt(error.to_string()),
        })?;
        self.metrics.reopened.inc();
        Ok(database)
    }
}

/// Whether a handle that gave this error gives it for ever.
fn is_lasting(error: &redb::Error) -> bool {
    matches!(error, redb::Error::Io(_) | redb::Error::PreviousIo | redb::Error::DatabaseClosed)
}

/// A new file stands under its name only when it is whole, so an empty or half one is never taken for new.
fn create(path: &Path) -> Result<(), OpenError> {
    let made = || -> Result<(), redb::Error> {
        let unfinished = path.with_extension("redb.new");
        match std::fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let database = Builder::new().create(&unfinished)?;
        let transaction = database.begin_write()?;
        tables::create(&transaction)?;
        transaction.commit()?;
        database.close()?;
        std::fs::rename(&unfinished, path)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(())
    };
    made().map_err(|error| unusable(path, &error))
}

/// Without verifying all of it, a damaged file could panic later, or quietly lack what was acknowledged.
fn open_verified(path: &Path) -> Result<Database, OpenError> {
    let opened = Builder::new().set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true).open(path);
    let read = opened.map_err(redb::Error::from).and_then(|database| {
        let format = tables::format(&database.begin_read()?)?;
        Ok((database, format))
    });
    match read {
        Ok((database, Some(tables::FORMAT))) => Ok(database),
        Ok((_, Some(found))) => Err(OpenError::Format { path: path.to_owned(), found }),
        Ok((_, None)) => Err(corrupt(path, "it is a database of something else")),
        Err(redb::Error::Corrupted(reason)) => Err(corrupt(path, &reason)),
        // No file of ours has ever been of another of redb's formats.
        Err(error @ redb::Error::UpgradeRequired(_)) => Err(corrupt(path, &error.to_string())),
        Err(redb::Error::Io(error)) if is_damage(&error) => Err(corrupt(path, &error.to_string())),
        Err(error) => Err(unusable(path, &error)),
    }
}

/// What redb says of a file that is none of its own or ends too early.
fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

fn corrupt(path: &Path, reason: &str) -> OpenError {
    OpenError::Corrupt { path: path.to_owned(), reason: reason.to_owned() }
}

fn unusable(path: &Path, error: &redb::Error) -> OpenError {
    OpenError::Unusable { path: path.to_owned(), source: other_error(error) }
}

fn other_error(error: &redb::Error) -> StoreError {
    match error {
        redb::Error::Io(io) if matches!(io.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            StoreError::Full(io.to_string())
        }
        error => StoreError::Unavailable(error.to_string()),
    }
}
