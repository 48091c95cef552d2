//! From what the files ask for to what serves.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{Registry, Wanted, Wish};
use crate::load::{Refusal, Step};
use crate::revision::Revision;
use crate::runtime::Code;
use crate::slot::Slot;

/// How long after an artifact could not be fetched it is tried again; in the end as often as the last one says.
const AGAIN: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(300)];

// === impl Registry ===

impl Registry {
    /// Loads what is new of `wanted`, each by itself.
    pub(crate) fn offer(&self, wanted: Wanted) {
        for (name, wish) in wanted {
            if let Some(slot) = self.slot(&name) {
                let (registry, turn) = (self.clone(), slot.next_turn());
                tokio::spawn(async move { registry.offer_until_had(&slot, turn, wish).await });
            }
        }
    }

    /// Loads a revision. Where its registry does not answer it is tried again, until something else is asked for.
    async fn offer_until_had(&self, slot: &Arc<Slot>, turn: u64, wish: Result<Wish, Refusal>) {
        let is_artifact = matches!(wish, Ok(Wish::Artifact { .. }));
        let last = AGAIN[AGAIN.len() - 1];
        for wait in AGAIN.into_iter().chain(std::iter::repeat(last)) {
            let Err(refusal) = self.offer_one(slot, wish.clone()).await else { return };
            if !is_artifact || refusal.step != Step::Fetch {
                return;
            }
            sleep(wait).await;
            let is_known = self.slot(slot.name()).is_some_and(|known| Arc::ptr_eq(&known, slot));
            if !is_known || slot.turn() != turn {
                return;
            }
        }
    }

    async fn offer_one(&self, slot: &Slot, wish: Result<Wish, Refusal>) -> Result<(), Refusal> {
        // Until what served last was tried too: nobody is told of a refusal that it makes up for.
        let _on_its_way = slot.on_its_way();
        let revision = match wish {
            Ok(wish) => self.had(wish).await,
            Err(refusal) => Err(refusal),
        };
        let offered = match revision {
            Ok(revision) => slot.offer(revision).await,
            Err(refusal) => Err(slot.refuse(refusal)),
        };
        let Err(refusal) = offered else { return Ok(()) };
        // As before the restart: what served last serves on.
        if !slot.is_serving()
            && let Some((revision, rejected)) =
                self.0.last_good.as_ref().and_then(|last_good| last_good.of(slot.name()))
        {
            slot.resume(revision, refusal.clone(), rejected).await;
        }
        Err(refusal)
    }

    /// The revision, its component fetched if need be.
    async fn had(&self, wish: Wish) -> Result<Revision, Refusal> {
        match wish {
            Wish::Here(revision) => Ok(*revision),
            Wish::Artifact { plugin, reference, digest } => {
                let fetched = self.0.artifacts.fetch(&reference, &digest).await;
                let bytes = fetched.map_err(|reason| Refusal { step: Step::Fetch, reason })?;
                let code = Code::read(&bytes);
                let code = code.map_err(|error| Refusal { step: Step::Verify, reason: error.to_string() })?;
                Ok(Revision::of_plugin(&plugin, code))
            }
        }
    }
}
