use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::{OfClass, OfReason};
use crate::status::Status;
use crate::{Metrics, Settings};

/// Bounds how many requests are in flight: short ones, and those that last.
pub(super) struct Admission {
    short: Places,
    long: Places,
    metrics: Metrics,
}

struct Places {
    free: Arc<Semaphore>,
    all: usize,
}

/// How long a request lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Until it is answered.
    Short,
    /// As long as the client wants: watches, logs, upgrades.
    Long,
}

/// The place of a request in flight; given back when dropped, which is when the answer's body ends.
#[derive(Debug)]
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    class: Class,
    metrics: Metrics,
}

// === impl Class ===

impl Class {
    fn label(self) -> OfClass {
        OfClass { class: if self == Self::Short { "short" } else { "long" } }
    }
}

// === impl Admission ===

impl Admission {
    pub(super) fn new(settings: &Settings, metrics: &Metrics) -> Self {
        Self {
            short: Places::new(settings.in_flight_max),
            long: Places::new(settings.long_running_max),
            metrics: metrics.clone(),
        }
    }

    /// A place for one more; 429 where all are taken.
    pub(super) fn admit(&self, class: Class) -> Result<Place, Status> {
        let places = if class == Class::Short { &self.short } else { &self.long };
        let Ok(permit) = places.free.clone().try_acquire_owned() else {
            let reason = if class == Class::Short { "requests" } else { "long_requests" };
            self.metrics.refused.get_or_create(&OfReason { reason }).inc();
            return Err(Status::too_many_requests("Too many requests, please try again later.", 1));
        };
        self.metrics.in_flight.get_or_create(&class.label()).inc();
        Ok(Place { _permit: permit, class, metrics: self.metrics.clone() })
    }

    /// Waits until all places are free.
    pub(super) async fn idle(&self) {
        while !self.short.is_idle() || !self.long.is_idle() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

// === impl Places ===

impl Places {
    fn new(all: usize) -> Self {
        let all = all.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(all)), all }
    }

    fn is_idle(&self) -> bool {
        self.free.available_permits() == self.all
    }
}

// === impl Place ===

impl Drop for Place {
    fn drop(&mut self) {
        self.metrics.in_flight.get_or_create(&self.class.label()).dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_request_too_many_is_429_and_a_place_given_back_is_taken_again() {
        let settings = Settings { in_flight_max: 1, long_running_max: 1, ..Settings::default() };
        let admission = Admission::new(&settings, &Metrics::default());
        let place = admission.admit(Class::Short).unwrap();
        let refused = admission.admit(Class::Short).unwrap_err();
        assert_eq!((refused.code().as_u16(), refused.retry_after_seconds()), (429, 1));
        let long = admission.admit(Class::Long).unwrap();
        drop(place);
        drop(admission.admit(Class::Short).unwrap());
        drop(long);
        tokio::time::timeout(Duration::from_secs(5), admission.idle()).await.unwrap();
    }
}
