use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use orrery_api::extension::{Capability, Case, CelTarget, ExtensionName, Limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::warn;

use crate::revision::Revision;
use crate::runtime::Code;
use crate::slot::{Rejected, Slot};

/// What served last of each extension, on disk: after a restart it serves where the newest revision cannot.
#[derive(Debug)]
pub(super) struct LastGood {
    folder: PathBuf,
    /// Held while files are written: what is written last is what is so last.
    writing: Mutex<()>,
}

/// A revision without its code, which stands beside it.
#[derive(Deserialize, Serialize)]
struct Kept {
    digest: String,
    params: Value,
    limits: Limits,
    capabilities: Vec<Capability>,
    cases: Vec<Case>,
    target: Option<CelTarget>,
    #[serde(default)]
    rejected: Rejected,
}

// === impl LastGood ===

impl LastGood {
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self { folder, writing: Mutex::default() }
    }

    /// Keeps what serves of `slot`, and what was rejected. That it cannot be kept matters only where it would be needed.
    pub(super) async fn keep(self: Arc<Self>, slot: Arc<Slot>) {
        // It does not panic, and the next change keeps all there is again.
        let _ = tokio::task::spawn_blocking(move || self.put(&slot)).await;
    }

    fn put(&self, slot: &Slot) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((revision, rejected)) = slot.kept() else { return };
        let kept = Kept {
            digest: revision.code.digest.clone(),
            params: revision.params.clone(),
            limits: revision.limits,
            capabilities: revision.capabilities.iter().copied().collect(),
            cases: revision.cases.clone(),
            target: revision.target,
            rejected,
        };
        let keep = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            let path = self.path(&revision.name);
            let text = serde_json::to_vec(&kept)?;
            if fs::read(path.with_extension("json")).is_ok_and(|found| found == text) {
                return Ok(());
            }
            write(&path.with_extension("wasm"), &revision.code.given)?;
            write(&path.with_extension("json"), &text)
        };
        if let Err(error) = keep() {
            warn!(%error, extension = %revision.name, "what serves of an extension cannot be kept for the next start");
        }
    }

    /// The revision that served last, and those before it that were not to serve again.
    pub(super) fn of(&self, name: &ExtensionName) -> Option<(Revision, Rejected)> {
        let path = self.path(name);
        let kept = self.kept(name)?;
        let code = Code::read(&fs::read(path.with_extension("wasm")).ok()?).ok()?;
        // The two files are written one after the other.
        let revision = Revision {
            name: name.clone(),
            params: kept.params,
            limits: kept.limits,
            capabilities: kept.capabilities.into_iter().collect(),
            cases: kept.cases,
            target: kept.target,
            code,
        };
        (revision.code.digest == kept.digest).then_some((revision, kept.rejected))
    }

    /// Revisions that are not to serve again.
    pub(super) fn rejected(&self, name: &ExtensionName) -> Rejected {
        self.kept(name).map(|kept| kept.rejected).unwrap_or_default()
    }

    fn kept(&self, name: &ExtensionName) -> Option<Kept> {
        serde_json::from_slice(&fs::read(self.path(name).with_extension("json")).ok()?).ok()
    }

    fn path(&self, name: &ExtensionName) -> PathBuf {
        self.folder.join(format!("{}-{}", name.kind, name.name))
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    fs::write(&unfinished, bytes)?;
    fs::File::open(&unfinished)?.sync_all()?;
    fs::rename(unfinished, path)
}
