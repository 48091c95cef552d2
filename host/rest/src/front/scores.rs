//! What something outside says of clusters: `ClusterScore`s, posted to `/orrery/v1/scores`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use orrery_api::ClusterName;
use orrery_api::placement::PushedScore;
use orrery_api::status::ClusterScore;

/// The scores of all clusters, in memory: who says them says them again after a restart.
#[derive(Default)]
pub(super) struct Scores(Mutex<BTreeMap<(ClusterName, String), Said>>);

struct Said {
    value: i64,
    at: SystemTime,
    valid_until: Option<SystemTime>,
}

/// Scores that are kept, over all clusters.
const SCORES_MAX: usize = 100_000;

// === impl Scores ===

impl Scores {
    /// Takes `score` in the place of what was said before; whether there was room for it.
    pub(super) fn say(&self, score: ClusterScore) -> bool {
        let mut scores = self.lock();
        let key = (score.cluster, score.name);
        let has_room = scores.len() < SCORES_MAX || scores.contains_key(&key);
        if has_room {
            scores.insert(key, Said { value: score.value, at: SystemTime::now(), valid_until: score.valid_until });
        }
        has_room
    }

    /// What was said of `cluster`, by name.
    pub(super) fn of(&self, cluster: &ClusterName) -> BTreeMap<String, PushedScore> {
        let now = SystemTime::now();
        let score = |said: &Said| PushedScore {
            value: said.value,
            age_ms: now.duration_since(said.at).map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
            expired: said.valid_until.is_some_and(|until| until <= now),
        };
        let scores = self.lock();
        let of_cluster = scores.range((cluster.clone(), String::new())..).take_while(|((of, _), _)| of == cluster);
        of_cluster.map(|((_, name), said)| (name.clone(), score(said))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(ClusterName, String), Said>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn score(cluster: &str, name: &str, value: i64, valid_until: Option<SystemTime>) -> ClusterScore {
        ClusterScore { cluster: ClusterName::new(cluster).unwrap(), name: name.to_owned(), value, valid_until }
    }

    #[test]
    fn the_last_word_on_a_cluster_counts_until_its_time_is_over() {
        let scores = Scores::default();
        let past = SystemTime::now() - Duration::from_secs(1);
        for said in
            [score("east", "cost", 7, None), score("east", "cost", 9, None), score("east", "heat", 1, Some(past))]
        {
            assert!(scores.say(said));
        }
        assert!(scores.say(score("east-2", "cost", 1, None)));
        let east = scores.of(&ClusterName::new("east").unwrap());
        let told: Vec<_> = east.iter().map(|(name, said)| (name.as_str(), said.value, said.expired)).collect();
        assert_eq!(told, [("cost", 9, false), ("heat", 1, true)]);
        assert!(scores.of(&ClusterName::new("west").unwrap()).is_empty());
    }
}
