use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use orrery_auth::Identity;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::front::Service;

/// As kube-apiserver takes them.
const HEADER_BYTES_MAX: usize = 1 << 20;
const HEADERS_MAX: usize = 1000;
/// Upstream recommends so many to servers that others stand in front of.
const STREAMS_MAX: u32 = 1000;
/// How much of an answer waits encrypted for the socket: a long list then takes few system calls.
const TLS_BUFFER_BYTES: usize = 256 << 10;
/// How often a silent HTTP/2 client is asked whether it is there, and how long it may take to answer.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_WAIT: Duration = Duration::from_secs(15);
/// A client that has vanished without a word is noticed within 25 s, also where its connection has become a stream: it is
/// asked after so long a silence, so often, and what was sent to it may be unacknowledged for so long.
const SILENCE: Duration = Duration::from_secs(10);
const ASK_EVERY: Duration = Duration::from_secs(5);
const ASKED_MAX: u32 = 3;
const UNACKNOWLEDGED: Duration = Duration::from_secs(25);

/// Serves one connection to its end. `close` lets it finish its requests and take no more.
pub(super) async fn run(
    stream: TcpStream,
    peer: SocketAddr,
    acceptor: TlsAcceptor,
    service: Arc<Service>,
    close: CancellationToken,
) {
    watch_over(&stream);
    let settings = service.settings();
    let tls = match timeout(settings.header_read, acceptor.accept(stream)).await {
        Ok(Ok(mut tls)) => {
            tls.get_mut().1.set_buffer_limit(Some(TLS_BUFFER_BYTES));
            tls
        }
        Ok(Err(error)) => return tracing::debug!(%peer, %error, "TLS handshake failed"),
        Err(_) => return tracing::debug!(%peer, "TLS handshake took too long"),
    };
    let identity = identity_of(&tls, peer).map(Arc::new);
    if let Err(error) = converse(tls, identity, service, close).await {
        tracing::debug!(%peer, error, "connection ended");
    }
}

/// Sets what the kernel does for a connection. Where it cannot, that is no reason to refuse a client.
fn watch_over(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let asking = TcpKeepalive::new().with_time(SILENCE).with_interval(ASK_EVERY).with_retries(ASKED_MAX);
    let _ = socket.set_tcp_keepalive(&asking);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
}

/// Answers what comes on `stream` from who it is known to be, to the stream's end.
pub(super) async fn converse<S>(
    stream: S,
    identity: Option<Arc<Identity>>,
    service: Arc<Service>,
    close: CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let settings = service.settings();
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_read)
        .max_buf_size(HEADER_BYTES_MAX + (64 << 10))
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HEADER_BYTES_MAX).expect("it is 1 MiB"))
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_WAIT);
    let metrics = service.metrics().clone();
    let handler = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let (service, identity) = (service.clone(), identity.clone());
        async move { Ok::<_, std::convert::Infallible>(service.answer(request, identity).await) }
    });
    metrics.connections.inc();
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), handler);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = close.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    metrics.connections.dec();
    ended
}

/// Who the peer is by its certificate, which the handshake has verified.
fn identity_of(tls: &TlsStream<TcpStream>, peer: SocketAddr) -> Option<Identity> {
    let chain = tls.get_ref().1.peer_certificates()?;
    Identity::of_peer(chain).inspect_err(|error| tracing::info!(%peer, %error, "client certificate names nobody")).ok()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_kernel_notices_a_client_that_has_vanished_within_half_a_minute() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        watch_over(&client);
        let socket = SockRef::from(&client);
        assert!(socket.keepalive().unwrap());
        let asked = socket.tcp_keepalive_interval().unwrap() * socket.tcp_keepalive_retries().unwrap();
        assert!(socket.tcp_keepalive_time().unwrap() + asked < Duration::from_secs(30));
        assert!(socket.tcp_user_timeout().unwrap().unwrap() < Duration::from_secs(30));
    }
}
