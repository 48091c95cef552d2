//! What clients of one served version are shown of a log that several versions share.

use std::collections::HashMap;

use orrery_api::{ClusterName, ObjectKey};
use orrery_cache::{Apply, BaseObject, NotShown, Reader, Writer};
use orrery_markers::{Marker, MemberObject};

/// A cache, and the names that it leaves out: objects of clusters that do not serve its version.
pub(crate) struct View {
    writer: Writer,
    left_out: HashMap<ObjectKey, ClusterName>,
}

// === impl View ===

impl View {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer, left_out: HashMap::new() }
    }

    pub(crate) fn reader(&self) -> Reader {
        self.writer.reader()
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The state at `floor`, without the objects of `left_out`, which are shown in other versions.
    pub(crate) fn begin(
        &mut self,
        base: Vec<BaseObject>,
        held: Vec<(ClusterName, MemberObject)>,
        left_out: HashMap<ObjectKey, ClusterName>,
        floor: Marker,
    ) -> Vec<NotShown> {
        self.left_out = left_out;
        self.writer.begin(base, held, floor)
    }

    /// Whether it leaves out something of `cluster`.
    pub(crate) fn leaves_out(&self, cluster: &ClusterName) -> bool {
        self.left_out.values().any(|of| of == cluster)
    }

    /// Applies `batch`, of which it shows what clusters have that serve its version.
    pub(crate) fn apply(&mut self, batch: Vec<Apply>, serves: impl Fn(&ClusterName) -> bool) -> Vec<NotShown> {
        let now = tokio::time::Instant::now().into_std();
        if self.left_out.is_empty() && batch.iter().all(|step| cluster_of(step).is_none_or(&serves)) {
            return self.writer.apply(batch, now);
        }
        let mut not_shown = Vec::new();
        for step in batch {
            // One by one: what a step means here depends on what the one before it left.
            let seen = self.seen(step, &serves);
            not_shown.extend(self.writer.apply(seen.into_iter().collect(), now));
        }
        not_shown
    }

    pub(crate) fn expire_started_before(&mut self, marker: Marker) {
        self.writer.expire_started_before(marker);
    }

    /// The step as this version shows it.
    fn seen(&mut self, step: Apply, serves: impl Fn(&ClusterName) -> bool) -> Option<Apply> {
        let is_left_out = cluster_of(&step).is_some_and(|cluster| !serves(cluster));
        match step {
            Apply::Put { marker, served, cluster, .. } | Apply::Reshow { marker, served, cluster, .. }
                if is_left_out =>
            {
                let was_shown = self.writer.has(&served);
                self.left_out.insert(served.clone(), cluster);
                Some(if was_shown { Apply::Delete { marker, served } } else { Apply::Mark { marker } })
            }
            Apply::Hold { .. } if is_left_out => None,
            Apply::Delete { marker, served } if self.left_out.remove(&served).is_some() => Some(Apply::Mark { marker }),
            Apply::Put { ref served, .. } | Apply::Reshow { ref served, .. } => {
                self.left_out.remove(served);
                Some(step)
            }
            Apply::Hold { .. } | Apply::Unhold { .. } | Apply::Delete { .. } | Apply::Mark { .. } => Some(step),
        }
    }
}

/// The cluster whose object a step shows or keeps.
fn cluster_of(step: &Apply) -> Option<&ClusterName> {
    match step {
        Apply::Put { cluster, .. } | Apply::Reshow { cluster, .. } | Apply::Hold { cluster, .. } => Some(cluster),
        Apply::Delete { .. } | Apply::Unhold { .. } | Apply::Mark { .. } => None,
    }
}
