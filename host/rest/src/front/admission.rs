use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::{OfClass, OfReason};
use crate::status::Status;
use crate::{Metrics, Settings};

/// Bounds how many requests are in flight, and how many of one client: reads, writes, and those that last.
pub(super) struct Admission {
    reads: Places,
    writes: Places,
    long: Places,
    metrics: Metrics,
}

struct Places {
    free: Arc<Semaphore>,
    all: usize,
    taken: Arc<TakenByUser>,
}

/// Places by the user who has them; users without any are not there.
#[derive(Debug, Default)]
struct TakenByUser(Mutex<HashMap<Arc<str>, usize>>);

/// How long a request lasts, and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Until it is answered, and changes nothing.
    Read,
    /// Until it is answered.
    Write,
    /// As long as the client wants: watches, logs, upgrades.
    Long,
}

/// The place of a request in flight; given back with the last clone, which is when the answer's body ends, or the
/// connection that it became.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    _taken: Arc<Taken>,
}

#[derive(Debug)]
struct Taken {
    _permit: OwnedSemaphorePermit,
    user: Arc<str>,
    of: Arc<TakenByUser>,
    class: Class,
    metrics: Metrics,
}

// === impl Class ===

impl Class {
    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Long => "long",
        }
    }

    fn label(self) -> OfClass {
        OfClass { class: self.as_str() }
    }
}

// === impl Admission ===

impl Admission {
    pub(super) fn new(settings: &Settings, metrics: &Metrics) -> Self {
        Self {
            reads: Places::new(settings.reads_max),
            writes: Places::new(settings.writes_max),
            long: Places::new(settings.long_running_max),
            metrics: metrics.clone(),
        }
    }

    /// A place for one more of `user`; 429 where all are taken, or half of them by that user.
    pub(super) fn admit(&self, class: Class, user: &str) -> Result<Place, Status> {
        let places = match class {
            Class::Read => &self.reads,
            Class::Write => &self.writes,
            Class::Long => &self.long,
        };
        let refused = |reason: &'static str| {
            self.metrics.refused.get_or_create(&OfReason { reason }).inc();
            Status::too_many_requests("Too many requests, please try again later.", 1)
        };
        let Ok(permit) = places.free.clone().try_acquire_owned() else {
            return Err(refused(class.as_str()));
        };
        let user = places.taken.take(user, places.share()).ok_or_else(|| refused("user"))?;
        self.metrics.in_flight.get_or_create(&class.label()).inc();
        let (of, metrics) = (places.taken.clone(), self.metrics.clone());
        Ok(Place { _taken: Arc::new(Taken { _permit: permit, user, of, class, metrics }) })
    }

    /// Waits until all places are free.
    pub(super) async fn idle(&self) {
        while ![&self.reads, &self.writes, &self.long].into_iter().all(Places::is_idle) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

// === impl Places ===

impl Places {
    fn new(all: usize) -> Self {
        let all = all.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(all)), all, taken: Arc::default() }
    }

    /// How many one user may have.
    fn share(&self) -> usize {
        (self.all / 2).max(1)
    }

    fn is_idle(&self) -> bool {
        self.free.available_permits() == self.all
    }
}

// === impl TakenByUser ===

impl TakenByUser {
    /// One more of `user`, unless there are `max`; the name under which it is counted.
    fn take(&self, user: &str, max: usize) -> Option<Arc<str>> {
        let mut users = self.users();
        let Some((name, taken)) = users.get_key_value(user).map(|(name, taken)| (name.clone(), *taken)) else {
            let name: Arc<str> = user.into();
            users.insert(name.clone(), 1);
            return Some(name);
        };
        (taken < max).then(|| {
            users.insert(name.clone(), taken + 1);
            name
        })
    }

    fn give_back(&self, user: &str) {
        let mut users = self.users();
        if let Some(taken) = users.get_mut(user) {
            *taken -= 1;
            if *taken == 0 {
                users.remove(user);
            }
        }
    }

    fn users(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Taken ===

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.give_back(&self.user);
        self.metrics.in_flight.get_or_create(&self.class.label()).dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(max: usize) -> Admission {
        let settings = Settings { reads_max: max, writes_max: max, long_running_max: max, ..Settings::default() };
        Admission::new(&settings, &Metrics::default())
    }

    #[tokio::test]
    async fn one_request_too_many_is_429_and_a_place_given_back_is_taken_again() {
        let admission = admission(1);
        let place = admission.admit(Class::Read, "a").unwrap();
        let refused = admission.admit(Class::Read, "b").unwrap_err();
        assert_eq!((refused.code().as_u16(), refused.retry_after_seconds()), (429, 1));
        let others = [Class::Write, Class::Long].map(|class| admission.admit(class, "a").unwrap());
        drop(place);
        drop(admission.admit(Class::Read, "b").unwrap());
        drop(others);
        tokio::time::timeout(Duration::from_secs(5), admission.idle()).await.unwrap();
    }

    #[test]
    fn one_user_has_at_most_half_of_the_places_of_a_class() {
        let admission = admission(4);
        for class in [Class::Read, Class::Write, Class::Long] {
            let mut places: Vec<_> = (0..2).map(|_| admission.admit(class, "greedy").unwrap()).collect();
            assert_eq!(admission.admit(class, "greedy").unwrap_err().code().as_u16(), 429, "{class:?}");
            let other = admission.admit(class, "modest").unwrap();
            places.pop();
            places.push(admission.admit(class, "greedy").unwrap());
            drop((places, other));
        }
        assert!(admission.reads.taken.users().is_empty(), "who has no place is forgotten");
    }

    #[test]
    fn a_connection_that_a_request_became_keeps_its_place() {
        let admission = admission(1);
        let place = admission.admit(Class::Long, "a").unwrap();
        let connection = place.clone();
        drop(place);
        assert!(admission.admit(Class::Long, "b").is_err());
        drop(connection);
        assert!(admission.admit(Class::Long, "b").is_ok());
    }
}
