use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::{ConnectError, Endpoint, Member, SendError};

/// The current way to a member, made at first use and made anew when it is refused.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    current: Mutex<Option<(Instant, Endpoint)>>,
    /// Held by the one task that is making a new one.
    making: Arc<tokio::sync::Mutex<()>>,
    /// Why the last making failed.
    failed: Mutex<Option<(Instant, Arc<ConnectError>)>>,
}

/// Longest wait for credentials (an exec plugin may ask the network).
const MAKING_MAX: Duration = Duration::from_secs(30);

/// Credentials that are refused, or cannot be made, are not made anew more often than this.
const MAKING_PAUSE: Duration = Duration::from_secs(2);

// === impl Connection ===

impl Connection {
    fn endpoint(&self) -> Option<Endpoint> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, endpoint)| endpoint.clone())
    }

    fn made_at(&self) -> Option<Instant> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(at, _)| *at)
    }

    fn set(&self, made: Result<Endpoint, ConnectError>) -> Option<Endpoint> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match made {
            Ok(endpoint) => {
                *failed = None;
                let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
                current.replace((Instant::now(), endpoint)).map(|(_, before)| before)
            }
            Err(error) => {
                *failed = Some((Instant::now(), Arc::new(error)));
                None
            }
        }
    }

    fn failed_just_now(&self) -> bool {
        self.failure().is_some_and(|(at, _)| at.elapsed() < MAKING_PAUSE)
    }

    fn failure(&self) -> Option<(Instant, Arc<ConnectError>)> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

// === impl Member ===

impl Member {
    /// The way to it, made if there is none yet.
    pub(crate) async fn endpoint(&self) -> Result<Endpoint, SendError> {
        if let Some(endpoint) = self.0.connection.endpoint() {
            return Ok(endpoint);
        }
        if !self.0.connection.failed_just_now() {
            self.make_endpoint(None).await;
        }
        let slow = || Arc::new(ConnectError::Slow(MAKING_MAX.as_secs()));
        let missing = || SendError::Credentials {
            cluster: self.0.name.clone(),
            source: self.0.connection.failure().map_or_else(slow, |(_, error)| error),
        };
        self.0.connection.endpoint().ok_or_else(missing)
    }

    /// Reads credentials anew because the member refused those of now. Whether there may be others since.
    pub(crate) async fn renew_credentials(&self) -> bool {
        let before = self.0.connection.made_at();
        if before.is_some_and(|at| at.elapsed() < MAKING_PAUSE) || self.0.connection.failed_just_now() {
            return false;
        }
        self.make_endpoint(before).await;
        self.0.connection.made_at() != before
    }

    /// Reads its configuration anew (SIGHUP). Streams to a server that it no longer names are cut.
    pub(crate) async fn reconfigure(&self) {
        self.make_endpoint(self.0.connection.made_at()).await;
        self.0.probe_now.notify_one();
    }

    /// Makes a new endpoint unless another task has since `before`. The making goes on when the caller has given up
    /// waiting, so that a plugin that hangs hangs once.
    async fn make_endpoint(&self, before: Option<Instant>) {
        let member = self.clone();
        let making = Arc::clone(&self.0.connection.making);
        let Ok(lock) = making.try_lock_owned() else {
            let wait = Arc::clone(&self.0.connection.making);
            // What matters is that the other task is done; its result is read by the caller.
            let _ = timeout(MAKING_MAX, wait.lock()).await;
            return;
        };
        let task = tokio::spawn(async move {
            let _lock = lock;
            if member.0.connection.made_at() == before {
                let made = member.source().connect(&member.0.settings, &member.0.metrics.traffic).await;
                member.install(made);
            }
        });
        let _ = timeout(MAKING_MAX, task).await;
    }

    fn install(&self, made: Result<Endpoint, ConnectError>) {
        if let Err(error) = &made {
            tracing::warn!(cluster = %self.0.name, error = crate::transport::chain(error), "member cannot be connected to");
        }
        let place = made.as_ref().ok().map(|endpoint| endpoint.place);
        let before = self.0.connection.set(made);
        if let (Some(place), Some(before)) = (place, before)
            && place != before.place
        {
            self.update(|status| {
                status.epoch += 1;
                true
            });
        }
    }
}
