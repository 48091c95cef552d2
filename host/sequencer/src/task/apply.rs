//! From what a record means to what the cache does.

use std::sync::PoisonError;

use orrery_api::Naming;
use orrery_cache::Apply;
use orrery_markers::{Content, Effect, Log, Sight};

use super::{Bodies, Task};

// === impl Task ===

impl Task {
    /// Stages records, and notes what they mean to readers until they are durable.
    pub(super) fn stage(&mut self, bodies: Option<&Bodies<'_>>, stage: impl FnOnce(&mut Log, &mut Vec<Effect>)) {
        let mut effects = Vec::new();
        stage(&mut self.shared.log.write().unwrap_or_else(PoisonError::into_inner), &mut effects);
        for effect in effects {
            self.waiting.extend(apply_of(effect, bodies));
        }
        if self.shared.naming == Naming::Same {
            self.drop_unheld(bodies);
        }
    }

    /// A cluster that lost its object of a name which others hold needs no body of it any more.
    fn drop_unheld(&mut self, bodies: Option<&Bodies<'_>>) {
        let Some(Bodies::One(object)) = bodies else { return };
        let log = self.shared.log.read().unwrap_or_else(PoisonError::into_inner);
        let lost: Vec<_> = log
            .clusters()
            .filter(|(cluster, part)| {
                part.object_at(&object.key).is_none() && self.view.writer().holds(cluster, &object.key)
            })
            .map(|(cluster, _)| cluster.clone())
            .collect();
        drop(log);
        let unheld = |cluster| Apply::Unhold { cluster, key: object.key.clone() };
        self.waiting.extend(lost.into_iter().map(unheld));
    }
}

/// One effect as the cache's step. An effect whose content nobody has (of a cluster that is away) shows nothing.
pub(super) fn apply_of(effect: Effect, bodies: Option<&Bodies<'_>>) -> Option<Apply> {
    let Effect { marker, what } = effect;
    let body = |key| bodies.and_then(|bodies| bodies.get(key)).cloned();
    Some(match what {
        Sight::Show { served, cluster, key, holders, content: Content::Kept, kind: _ } => {
            Apply::Reshow { marker, served, cluster, key, holders }
        }
        Sight::Show { served, cluster, key, holders, content: Content::Changed, kind: _ } => match body(&key) {
            Some(object) => Apply::Put { marker, served, cluster, object, holders },
            None => Apply::Mark { marker },
        },
        Sight::Delete { served } => Apply::Delete { marker, served },
        Sight::Hold { cluster, key } => Apply::Hold { cluster, object: body(&key)? },
        Sight::Nothing => Apply::Mark { marker },
    })
}
