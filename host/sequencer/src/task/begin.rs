//! The start, second half: from the recovered log and what the members hold to a cache that serves (design 2.4).

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::Duration;

use orrery_api::{ClusterName, ObjectKey, Uid};
use orrery_cache::{Apply, BaseObject};
use orrery_fleet::{AwayClass, AwayReason, Health, Member, Observation};
use orrery_markers::{Log, Marker, MemberObject, Presence, Record, Recovered, Shown, StoreError};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{info, warn};

use super::apply::apply_of;
use super::gather::{Gathering, Listed, Next, Recovering, State};
use super::{BATCH_MAX, Stopped, Task};
use crate::resource::{ClusterPhase, ClusterState};

/// How far before the log's last record a restart begins.
const REWIND: Duration = Duration::from_secs(60);
/// How long a member whose discovery is not known yet is waited for.
const DISCOVERY_WAIT: Duration = Duration::from_secs(10);

// === impl Task ===

impl Task {
    /// Reads the log back, gathers what the members hold, and begins the cache.
    pub(super) async fn begin(
        &mut self,
        observations: &mut mpsc::Receiver<(ClusterName, Observation)>,
    ) -> Result<(), Stopped> {
        let Recovered { log, tail } = self.recover().await?;
        self.await_discovery().await;
        let gathered = self.gather(&Recovering { log: &log, tail: &tail }, observations).await?;
        self.build(log, tail, gathered).await
    }

    async fn recover(&mut self) -> Result<Recovered, Stopped> {
        let mut wait = Duration::from_millis(100);
        let stored = loop {
            match self.inner.store.load(&self.label.resource).await {
                Ok(stored) => break stored,
                Err(StoreError::Corrupt(what)) => return Err(what.into()),
                Err(error) => warn!(reason = %error, "failed to read the log; trying again"),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(5));
        };
        let naming = self.shared.naming;
        let recovered = tokio::task::spawn_blocking(move || Log::recover(&stored, naming, REWIND)).await;
        let recovered = recovered.map_err(|_| "reading the log back was cut short")?;
        recovered.map_err(|error| format!("the log of {} cannot be read back: {error}", self.label.resource).into())
    }

    /// Waits a little for members that were never seen: they may serve the resource too.
    async fn await_discovery(&self) {
        let mut changed = self.inner.fleet.changed();
        let all_known = async {
            while self
                .ingests
                .unknown()
                .iter()
                .any(|member| matches!(member.health(), Health::NeverSeen { reason } if reason.is_empty()))
            {
                if changed.changed().await.is_err() {
                    break;
                }
            }
        };
        if tokio::time::timeout(DISCOVERY_WAIT, all_known).await.is_err() {
            info!("some members have not answered yet");
        }
    }

    async fn gather(
        &mut self,
        recovering: &Recovering<'_>,
        observations: &mut mpsc::Receiver<(ClusterName, Observation)>,
    ) -> Result<Vec<Gathering>, Stopped> {
        let mut gathered: Vec<Gathering> = Vec::new();
        for serving in self.ingests.serving() {
            let (gathering, start) = Gathering::begin(serving.member.clone(), recovering);
            self.ingests.begin(&serving, start);
            gathered.push(gathering);
        }
        gathered.extend(self.ingests.unknown().into_iter().map(|member| {
            let reason = never_seen(&member);
            Gathering::away(member, reason)
        }));
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while !gathered.iter().all(Gathering::is_settled) {
            let deadline = gathered.iter().filter_map(Gathering::deadline).min();
            let timeout = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                received = observations.recv_many(&mut batch, BATCH_MAX) => {
                    if received == 0 {
                        return Err("no observations can come any more".into());
                    }
                    for (cluster, observation) in batch.drain(..) {
                        let Some(gathering) = gathered.iter_mut().find(|gathering| *gathering.member.name() == cluster) else { continue };
                        if gathering.take(observation, recovering) == Next::Restart {
                            self.restart(&gathering.member);
                        }
                    }
                }
                () = timeout => {
                    for gathering in &mut gathered {
                        if gathering.check_deadline(Instant::now()) == Next::Restart {
                            self.restart(&gathering.member);
                        }
                    }
                }
            }
        }
        // Their tries go on, but what is said from here on is sequenced: only a list can bring back who is away.
        for away in gathered.iter().filter(|gathering| gathering.has_failed_to_resume()) {
            self.ingests.restart(&away.member);
        }
        Ok(gathered)
    }

    fn restart(&mut self, member: &Member) {
        self.inner.metrics.mismatches.get_or_create(&self.label).inc();
        self.ingests.restart(member);
    }

    /// Makes the recovered log and the gathered bodies one state with its history, sequences what is new, and serves.
    async fn build(&mut self, log: Log, tail: Vec<Record>, gathered: Vec<Gathering>) -> Result<(), Stopped> {
        let left = clusters_without(&log, &tail, &gathered);
        let old_head = tail.iter().rev().find_map(Record::marker).or(log.head());
        let first = log.head().or(tail.first().and_then(Record::marker));
        let floor = floor(&log, &tail, &gathered).max(first);
        *self.shared.log.write().unwrap_or_else(PoisonError::into_inner) = log;
        let Sorted { bodies, lists, afters } = self.sort_out(gathered);
        let mut beginning = Beginning { bodies, begun: false };
        self.replay(tail, &mut beginning, floor);

        let (known, joining): (Vec<_>, Vec<_>) =
            lists.into_iter().partition(|(cluster, _)| old_head.is_none() || self.has_joined(cluster));
        if known.is_empty() && !beginning.begun {
            self.begin_cache(&mut beginning, old_head);
        }
        let now = self.inner.settings.wall_clock.now();
        self.stage(None, |log, effects| log.begin_term(now, effects));
        self.sequence_known(known, &mut beginning, old_head).await?;
        self.stage_away();
        // What the ring brought back is shown from here on: a last state that it has need not pass to anybody.
        self.commit().await?;
        let reader = self.view.reader();
        self.stage(None, |log, effects| log.pass_on(|served| reader.get(served).is_some(), effects));
        for cluster in left {
            info!(%cluster, "a cluster of the log is no member any more");
            self.stage(None, |log, effects| log.left(&cluster, effects));
        }
        for (cluster, Listed { version, identity, objects }) in joining {
            self.sequence_list(&cluster, version, identity, &objects);
        }
        self.commit().await?;
        for (cluster, after) in afters {
            for observation in after {
                self.observe(&cluster, observation);
            }
        }
        self.commit().await
    }

    /// Bodies of what the log has, lists of what it may not have, and what came after either, all in fleet order.
    fn sort_out(&mut self, gathered: Vec<Gathering>) -> Sorted {
        let (mut bodies, mut lists, mut afters) = (Bodies::new(), Vec::new(), Vec::new());
        for Gathering { member, state, after, .. } in gathered {
            let cluster = member.name().clone();
            let phase = match state {
                State::Away(reason) => ClusterPhase::Away { reason },
                State::Replayed(replayed) => {
                    keep(&mut bodies, &cluster, replayed.bodies);
                    ClusterPhase::Live
                }
                State::Listed(list) => {
                    lists.push((cluster.clone(), list));
                    ClusterPhase::Live
                }
                State::Waiting | State::Replaying(..) => ClusterPhase::Loading,
            };
            self.set_phase(&cluster, phase);
            afters.push((cluster, after));
        }
        Sorted { bodies, lists, afters }
    }

    /// Moves the log to its head: what is after `floor` becomes the ring.
    fn replay(&mut self, tail: Vec<Record>, beginning: &mut Beginning, floor: Option<Marker>) {
        for record in tail {
            if !beginning.begun && record.marker().is_some_and(|marker| Some(marker) > floor) {
                self.begin_cache(beginning, floor);
            }
            let body = match &record {
                Record::Change { cluster, change, .. } => {
                    beginning.bodies.get(&(cluster.clone(), change.uid.clone(), change.version.number())).cloned()
                }
                _ => None,
            };
            let mut effects = Vec::new();
            self.shared.log.write().unwrap_or_else(PoisonError::into_inner).replay(record, &mut effects);
            if beginning.begun {
                let body = body.as_ref().map(super::Bodies::one);
                self.waiting.extend(effects.into_iter().filter_map(|effect| apply_of(effect, body.as_ref())));
            }
        }
    }

    /// Lists of clusters that clients know: what differs from the log has no earlier body, so the floor is after it.
    async fn sequence_known(
        &mut self,
        known: Vec<(ClusterName, Listed)>,
        beginning: &mut Beginning,
        old_head: Option<Marker>,
    ) -> Result<(), Stopped> {
        if beginning.begun {
            return Ok(());
        }
        let term = self.log().head();
        for (cluster, Listed { version, identity, objects }) in known {
            if self.is_another(&cluster, &identity) {
                self.stage(None, |log, effects| log.left(&cluster, effects));
            }
            self.sequence_list(&cluster, version, identity, &objects);
            keep(&mut beginning.bodies, &cluster, objects);
        }
        let head = self.log().head();
        let differs = old_head.is_none() || head != term;
        self.waiting.clear();
        self.commit().await?;
        self.begin_cache(beginning, if differs { head } else { old_head });
        self.waiting.extend(head.filter(|_| !differs).map(|marker| Apply::Mark { marker }));
        Ok(())
    }

    /// Begins the cache with what the log shows now; what a cluster that is away holds is not in it.
    fn begin_cache(&mut self, beginning: &mut Beginning, floor: Option<Marker>) {
        let floor = floor.or(self.log().head()).unwrap_or(Marker::FIRST);
        let log = self.shared.log.read().unwrap_or_else(PoisonError::into_inner);
        let body = |cluster: &ClusterName, key: &ObjectKey| {
            let (uid, entry) = log.cluster(cluster)?.object_at(key)?;
            beginning.bodies.get(&(cluster.clone(), uid.clone(), entry.version.number())).cloned()
        };
        let (mut base, mut left_out) = (Vec::new(), HashMap::new());
        for Shown { served, cluster, key, marker, holders } in log.shown() {
            if self.ingests.is_elsewhere(&cluster) {
                left_out.insert(served, cluster);
            } else if let Some(object) = body(&cluster, &key) {
                base.push(BaseObject { served, marker, cluster, object, holders });
            }
        }
        let held = log.held().into_iter();
        let held = held.filter_map(|(cluster, key)| Some((cluster.clone(), body(&cluster, &key)?))).collect();
        drop(log);
        let not_shown = self.view.begin(base, held, left_out, floor);
        self.report(not_shown);
        beginning.begun = true;
    }

    /// Clusters that the log has, but that are away now: lists lack their objects from here on.
    fn stage_away(&mut self) {
        let away: Vec<ClusterName> = {
            let clusters = self.shared.clusters.read().unwrap_or_else(PoisonError::into_inner);
            let is_away = |state: &ClusterState| matches!(state.phase, ClusterPhase::Away { .. });
            clusters.iter().filter(|(_, state)| is_away(state)).map(|(name, _)| name.clone()).collect()
        };
        for cluster in away {
            if !self.has_joined(&cluster) {
                continue;
            }
            self.stage(None, |log, effects| log.away(&cluster, effects));
        }
    }
}

/// What was gathered, each part in fleet order.
struct Sorted {
    bodies: Bodies,
    lists: Vec<(ClusterName, Listed)>,
    afters: Vec<(ClusterName, Vec<Observation>)>,
}

/// The start of a cache.
struct Beginning {
    bodies: Bodies,
    begun: bool,
}

/// Bodies by cluster, uid and member version.
type Bodies = HashMap<(ClusterName, Uid, u64), MemberObject>;

fn keep(bodies: &mut Bodies, cluster: &ClusterName, objects: Vec<MemberObject>) {
    bodies.extend(
        objects.into_iter().map(|object| ((cluster.clone(), object.uid.clone(), object.version.number()), object)),
    );
}

/// Clusters that the log has and nobody gathered.
fn clusters_without(log: &Log, tail: &[Record], gathered: &[Gathering]) -> Vec<ClusterName> {
    let in_tail = tail.iter().filter_map(|record| match record {
        Record::Change { cluster, .. } | Record::Joined { cluster, .. } => Some(cluster),
        _ => None,
    });
    let mut left: Vec<ClusterName> = log.clusters().map(|(name, _)| name).chain(in_tail).cloned().collect();
    left.sort();
    left.dedup();
    left.retain(|name| !gathered.iter().any(|gathering| gathering.member.name() == name));
    left
}

/// Where the ring can begin: after the last record of each cluster whose history did not come back.
fn floor(log: &Log, tail: &[Record], gathered: &[Gathering]) -> Option<Marker> {
    let since = |cluster: &ClusterName| {
        let gathering = gathered.iter().find(|gathering| gathering.member.name() == cluster)?;
        if let State::Replayed(replaying) = &gathering.state { Some(replaying.since) } else { None }
    };
    let lacks_body = |(place, record): &(usize, &Record)| match record {
        Record::Change { cluster, .. } | Record::Claim { cluster, .. } | Record::Left { cluster, .. } => {
            since(cluster).is_none_or(|since| *place < since)
        }
        Record::Term { .. }
        | Record::Progress { .. }
        | Record::Joined { .. }
        | Record::Away { .. }
        | Record::Freed { .. } => false,
    };
    // A list is held against the log's head, so where one of a known cluster came nothing before the head can be shown.
    let is_known = |cluster: &ClusterName| {
        let joins = |record: &Record| matches!(record, Record::Joined { cluster: of, .. } if of == cluster);
        log.cluster(cluster).is_some_and(|part| part.presence() == Presence::Joined) || tail.iter().any(joins)
    };
    if gathered.iter().any(|gathering| matches!(gathering.state, State::Listed(_)) && is_known(gathering.member.name()))
    {
        return tail.iter().rev().find_map(Record::marker);
    }
    tail.iter().enumerate().rev().find(lacks_body).and_then(|(_, record)| record.marker())
}

/// Why a member that nobody has seen is away.
fn never_seen(member: &Member) -> AwayReason {
    let text = match member.health() {
        Health::NeverSeen { reason } if !reason.is_empty() => reason,
        _ => "it has not answered yet".to_owned(),
    };
    AwayReason { class: AwayClass::NoAnswer, text }
}
