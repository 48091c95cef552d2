//! A TCP proxy before an etcd that loses answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Kind and flag of an HTTP/2 frame that ends a message with its trailers (RFC 9113, 6.2): each answer of gRPC ends so.
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;

/// A proxy that loses the end of each nth answer, and with it the connection that it came on. Etcd has done then what it
/// was asked for, and nobody hears of it.
pub(crate) struct LossyProxy {
    endpoint: String,
    lost: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

// === impl LossyProxy ===

impl LossyProxy {
    /// One before the port `to` of the loopback interface.
    pub(crate) async fn start(to: u16, nth: u64) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let (answers, lost) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let counted = lost.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (answers, lost) = (answers.clone(), counted.clone());
                tokio::spawn(async move {
                    // Whatever ends a connection ends it for both sides; who dialled may dial again.
                    let _ = carry(client, to, || {
                        let is_lost = (answers.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(nth);
                        lost.fetch_add(is_lost.into(), Ordering::Relaxed);
                        is_lost
                    })
                    .await;
                });
            }
        });
        Ok(Self { endpoint, lost, accepting })
    }

    pub(crate) fn endpoint(&self) -> String {
        self.endpoint.clone()
    }

    /// Answers lost so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for LossyProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn carry(mut client: TcpStream, to: u16, is_lost: impl Fn() -> bool) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", to)).await?;
    // Small frames one after another would wait for each other's acknowledgement.
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (client.split(), server.split());
    tokio::select! {
        sent = copy(&mut from_client, &mut to_server) => sent.map(drop),
        answered = answers(&mut from_server, &mut to_client, is_lost) => answered,
    }
}

/// Hands frame after frame on, until one that ends an answer is to be lost.
async fn answers(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    is_lost: impl Fn() -> bool,
) -> std::io::Result<()> {
    loop {
        // Three bytes of length, one of kind, one of flags, four of stream.
        let mut frame = vec![0; 9];
        from.read_exact(&mut frame).await?;
        let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]);
        let ends_answer = frame[3] == HEADERS && frame[4] & END_STREAM != 0;
        frame.resize(9 + length as usize, 0);
        from.read_exact(&mut frame[9..]).await?;
        if ends_answer && is_lost() {
            return Ok(());
        }
        to.write_all(&frame).await?;
    }
}
