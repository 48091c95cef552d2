use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use prometheus_client::metrics::gauge::Gauge;
use tower::Service;

use crate::Traffic;

type Boxed = Box<dyn std::error::Error + Send + Sync>;

/// A connector that counts the connections which it made and which are still open.
#[derive(Clone, Debug)]
pub(crate) struct CountedConnector<C> {
    inner: C,
    traffic: Traffic,
}

/// A connection that is counted while it is open.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    inner: T,
    open: Gauge,
}

// === impl CountedConnector ===

impl<C> CountedConnector<C> {
    pub(crate) fn new(inner: C, traffic: Traffic) -> Self {
        Self { inner, traffic }
    }
}

impl<C> Service<Uri> for CountedConnector<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
    C::Response: Send + 'static,
    C::Error: Into<Boxed>,
{
    type Response = Counted<C::Response>;
    type Error = Boxed;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Boxed>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Boxed>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.inner.call(uri);
        let open = self.traffic.connections.clone();
        Box::pin(async move {
            let inner = connecting.await.map_err(Into::into)?;
            open.inc();
            Ok(Counted { inner, open })
        })
    }
}

// === impl Counted ===

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.open.dec();
    }
}

impl<T: Connection> Connection for Counted<T> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

impl<T: Read + Unpin> Read for Counted<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: Write + Unpin> Write for Counted<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }
}
