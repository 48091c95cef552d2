//! The listening side: connections, TLS, and the end of it all.

mod connection;

use std::sync::Arc;

use orrery_auth::Identity;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::front::{Front, Service};
use crate::metrics::OfReason;

/// Serves `front` on `listener` until `shutdown`, then drains: `/readyz` fails, new requests are sent away with
/// Retry-After, watches end cleanly, requests in flight are finished as long as [`crate::Settings::drain`] lasts. Returns
/// when that is done.
///
/// `tls` asks for client certificates and verifies those that it is shown; who shows none gets 401 (health aside).
pub async fn serve(listener: TcpListener, tls: Arc<rustls::ServerConfig>, front: Front, shutdown: CancellationToken) {
    let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let service = Arc::new(Service::new(front, address, shutdown.clone()));
    let connections = Connections {
        acceptor: TlsAcceptor::from(tls),
        places: Arc::new(Semaphore::new(service.settings().connections_max)),
        close: CancellationToken::new(),
        tasks: TaskTracker::new(),
        service,
    };
    tokio::select! {
        never = connections.accept(&listener) => match never {},
        () = connections.drained(&shutdown) => {}
    }
    connections.finish().await;
}

/// The front without a listener: for clients that are in the same process, whoever their caller says they are.
#[derive(Clone)]
pub struct InProcess(Arc<Service>);

// === impl InProcess ===

impl InProcess {
    /// The front at work, until `shutdown`.
    pub fn new(front: Front, shutdown: CancellationToken) -> Self {
        Self(Arc::new(Service::new(front, "in-process".to_owned(), shutdown)))
    }

    /// Speaks HTTP on `stream` to a client that is `identity`, until one of both closes it.
    ///
    /// # Errors
    /// What ended the connection, where it did not end cleanly.
    pub async fn converse<S>(
        &self,
        stream: S,
        identity: Identity,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        connection::converse(stream, Some(Arc::new(identity)), self.0.clone(), CancellationToken::new()).await
    }
}

struct Connections {
    acceptor: TlsAcceptor,
    places: Arc<Semaphore>,
    /// Connections finish what they do and close.
    close: CancellationToken,
    tasks: TaskTracker,
    service: Arc<Service>,
}

// === impl Connections ===

impl Connections {
    async fn accept(&self, listener: &TcpListener) -> std::convert::Infallible {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, mostly: it passes when connections close.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Ok(place) = self.places.clone().try_acquire_owned() else {
                self.service.metrics().refused.get_or_create(&OfReason { reason: "connections" }).inc();
                tracing::warn!(%peer, "too many connections: one more is closed");
                continue;
            };
            let (acceptor, service, close) = (self.acceptor.clone(), self.service.clone(), self.close.clone());
            self.tasks.spawn(async move {
                connection::run(stream, peer, acceptor, service, close).await;
                drop(place);
            });
        }
    }

    /// Waits for the end, and then until requests in flight are finished or the time for that is up. The door stays
    /// open meanwhile: who comes is told to go elsewhere.
    async fn drained(&self, shutdown: &CancellationToken) {
        shutdown.cancelled().await;
        let limit = Instant::now() + self.service.settings().drain;
        if tokio::time::timeout_at(limit, self.service.idle()).await.is_err() {
            tracing::warn!("requests were still in flight at the end of the drain");
        }
    }

    async fn finish(&self) {
        self.close.cancel();
        self.tasks.close();
        let _ = timeout(std::time::Duration::from_secs(2), self.tasks.wait()).await;
    }
}
