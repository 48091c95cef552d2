//! All extensions of a host, by name.

mod last_good;
mod offer;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use orrery_api::extension::{ComponentSource, Document, ExtensionName, Plugin};
use orrery_api::status::{ExtensionLogs, ExtensionStatus};
use tokio::sync::watch;

use crate::Metrics;
use crate::file::Content;
use crate::load::{Refusal, Runtime, Step};
use crate::oci::Artifacts;
use crate::revision::Revision;
use crate::runtime::Code;
use crate::set::FileSet;
use crate::slot::Slot;
use last_good::LastGood;

/// The extensions of now and later. A cheap handle: clones are the same set.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    runtime: Arc<Runtime>,
    evaluator: Code,
    last_good: Option<Arc<LastGood>>,
    artifacts: Artifacts,
    metrics: Metrics,
    slots: RwLock<BTreeMap<ExtensionName, Arc<Slot>>>,
    /// Says that there are other extensions than before.
    known: watch::Sender<()>,
}

/// What the files ask for, by name: a revision, or why there is none.
pub(crate) type Wanted = BTreeMap<ExtensionName, Result<Wish, Refusal>>;

/// A revision, or how one is to be had.
#[derive(Clone)]
pub(crate) enum Wish {
    /// Its component lies in the directory.
    Here(Box<Revision>),
    /// Its component is an artifact of a registry.
    Artifact {
        plugin: Arc<Plugin>,
        reference: String,
        /// Of its manifest.
        digest: String,
    },
}

/// The component that evaluates rules in CEL, built of `plugins/cel`.
pub(crate) static EVALUATOR: &[u8] = include_bytes!("../../../plugins/cel/cel.wasm");

// === impl Registry ===

impl Registry {
    /// No extensions yet. Compiled components, and what served last, are kept in `folder`.
    ///
    /// # Errors
    /// This machine cannot run WebAssembly.
    pub fn start(folder: Option<&Path>, metrics: Metrics) -> wasmtime::Result<Self> {
        let runtime = Arc::new(Runtime::start(folder.map(|folder| folder.join("compiled")).as_deref())?);
        let evaluator = Code::read(EVALUATOR)?;
        let last_good = folder.map(|folder| Arc::new(LastGood::in_folder(folder.join("last-good"))));
        Ok(Self(Arc::new(Shared {
            runtime,
            evaluator,
            last_good,
            artifacts: Artifacts::in_folder(folder.map(|folder| folder.join("artifacts"))),
            metrics,
            slots: RwLock::default(),
            known: watch::Sender::new(()),
        })))
    }

    /// How all of them are, by kind and name.
    pub fn statuses(&self) -> Vec<ExtensionStatus> {
        self.slots().values().map(|slot| slot.status()).collect()
    }

    /// How one is; `None` where there is no such one.
    pub fn status(&self, name: &ExtensionName) -> Option<ExtensionStatus> {
        Some(self.slot(name)?.status())
    }

    /// What one wrote last.
    pub fn logs(&self, name: &ExtensionName) -> Option<ExtensionLogs> {
        Some(self.slot(name)?.logs())
    }

    /// Puts the generation before back, for the next start too; its number, or `Some(None)` where there is none, or `None` where
    /// there is no such extension.
    pub async fn roll_back(&self, name: &ExtensionName) -> Option<Option<u64>> {
        let slot = self.slot(name)?;
        let put_back = slot.roll_back("it was rolled back by hand");
        if let Some(last_good) = self.0.last_good.clone() {
            last_good.keep(slot).await;
        }
        Some(put_back)
    }

    /// What `files` ask for.
    pub(crate) fn wanted(&self, files: &FileSet) -> Wanted {
        let components: BTreeMap<&str, &Code> = files.used().filter_map(component).collect();
        let mut wanted = Wanted::new();
        let mut named = BTreeSet::new();
        for document in files.documents() {
            match &**document {
                Document::Placement(_) => {}
                Document::Plugin(plugin) => {
                    let wish = plugin_wish(plugin, &components);
                    if let ComponentSource::File { path, .. } = &plugin.component {
                        named.insert(path.as_str());
                    }
                    wanted.insert(ExtensionName::plugin(&plugin.name), wish);
                }
                Document::Cel(policy) => {
                    let revision = Revision::of_cel(policy, self.0.evaluator.clone());
                    wanted.insert(revision.name.clone(), Ok(Wish::Here(Box::new(revision))));
                }
            }
        }
        // A component that no document names is a plugin by the name of its file.
        for (path, code) in components.iter().filter(|(path, _)| !named.contains(*path)) {
            let Some(name) = path.strip_suffix(".wasm").and_then(ExtensionName::plugin_if_valid) else { continue };
            let wish =
                || Ok(Wish::Here(Box::new(Revision::of_plugin(&Plugin::of_file(&name.name, path), (*code).clone()))));
            wanted.entry(name.clone()).or_insert_with(wish);
        }
        wanted
    }

    /// Knows all of `wanted` from now on, and nothing else; those that are new are on their way until [`Self::offer`].
    pub(crate) fn know(&self, wanted: &Wanted) {
        let mut slots = self.0.slots.write().unwrap_or_else(PoisonError::into_inner);
        let is_as_before = slots.keys().eq(wanted.keys());
        slots.retain(|name, _| wanted.contains_key(name));
        for name in wanted.keys() {
            slots.entry(name.clone()).or_insert_with(|| self.new_slot(name));
        }
        self.0.metrics.extensions(slots.keys());
        drop(slots);
        if !is_as_before {
            self.0.known.send_replace(());
        }
    }

    /// A slot that keeps what serves, and what was rejected, for the next start of the host.
    fn new_slot(&self, name: &ExtensionName) -> Arc<Slot> {
        let slot = Slot::new(name.clone(), self.0.runtime.clone(), self.0.metrics.clone());
        if let Some(last_good) = &self.0.last_good {
            slot.reject(last_good.rejected(name));
            let (last_good, of, mut changed) = (last_good.clone(), Arc::downgrade(&slot), slot.changed());
            tokio::spawn(async move {
                while changed.changed().await.is_ok() {
                    let Some(slot) = of.upgrade() else { return };
                    last_good.clone().keep(slot).await;
                }
            });
        }
        slot
    }

    pub(crate) fn known(&self) -> watch::Receiver<()> {
        self.0.known.subscribe()
    }

    /// Those that select objects, or may do so once they are loaded.
    pub(crate) fn slots_of_selectors(&self) -> Vec<Arc<Slot>> {
        self.slots().into_values().filter(|slot| slot.may_select()).collect()
    }

    pub(crate) fn slot(&self, name: &ExtensionName) -> Option<Arc<Slot>> {
        self.slots().get(name).cloned()
    }

    fn slots(&self) -> BTreeMap<ExtensionName, Arc<Slot>> {
        self.0.slots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn component<'f>((path, content): (&'f Path, &'f Content)) -> Option<(&'f str, &'f Code)> {
    match content {
        Content::Component(code) => Some((path.file_name()?.to_str()?, code)),
        Content::Documents(_) => None,
    }
}

fn plugin_wish(plugin: &Plugin, components: &BTreeMap<&str, &Code>) -> Result<Wish, Refusal> {
    let refusal = |step, reason| Err(Refusal { step, reason });
    match &plugin.component {
        ComponentSource::File { path, digest } => {
            let Some(code) = components.get(path.as_str()) else {
                let reason = format!("no component {path} is in the directory of extensions; put it there");
                return refusal(Step::Fetch, reason);
            };
            match digest {
                Some(digest) if *digest != code.digest => {
                    let reason = format!("{path} has the digest {}, and the Plugin asks for {digest}", code.digest);
                    refusal(Step::Verify, reason)
                }
                _ => Ok(Wish::Here(Box::new(Revision::of_plugin(plugin, (*code).clone())))),
            }
        }
        ComponentSource::Oci { reference, digest } => {
            let (reference, digest) = (reference.clone(), digest.clone());
            Ok(Wish::Artifact { plugin: Arc::new(plugin.clone()), reference, digest })
        }
    }
}

#[cfg(test)]
mod tests;
