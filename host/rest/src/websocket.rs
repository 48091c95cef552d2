//! Watches over WebSocket (RFC 6455): each event is one text frame (AS pkg/endpoints/handlers/watch.go).

mod handshake;

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::Stream;
use futures::{SinkExt as _, StreamExt as _};
use prometheus_client::metrics::counter::Counter;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

pub(crate) use handshake::Handshake;

/// Why a WebSocket ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All frames are sent.
    Done,
    /// The client closed it, or its connection broke.
    Left,
    /// The client did not take a piece in time.
    Slow,
    /// The client answered no ping.
    Vanished,
}

/// How often a client is asked whether it is there, and how long it may take to answer; as over HTTP/2.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WAIT: Duration = Duration::from_secs(15);
/// How long a client may take to read one piece.
const SEND_WAIT: Duration = Duration::from_secs(30);
/// How long the farewell may take.
const CLOSE_WAIT: Duration = Duration::from_secs(5);
/// Clients have nothing to say on a watch.
const RECEIVED_BYTES_MAX: usize = 64 << 10;
const BUFFER_BYTES: usize = 16 << 10;

// === impl End ===

impl End {
    /// Its name in metrics, where it is a client that was cut.
    pub(crate) fn cut(self) -> Option<&'static str> {
        match self {
            Self::Done | Self::Left => None,
            Self::Slow => Some("slow"),
            Self::Vanished => Some("vanished"),
        }
    }
}

/// Sends each line of `pieces` as a text frame on `io`, a connection whose handshake is done, until they end or the
/// client goes. Bytes of lines are counted in `sent`.
pub(crate) async fn serve<S>(io: S, pieces: impl Stream<Item = Bytes>, sent: &Counter) -> End
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(RECEIVED_BYTES_MAX))
        .max_frame_size(Some(RECEIVED_BYTES_MAX));
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let end = run(&mut socket, pieces, sent).await;
    if matches!(end, End::Done | End::Left) {
        let _ = timeout(CLOSE_WAIT, farewell(&mut socket, end)).await;
    }
    end
}

async fn run<S>(socket: &mut WebSocketStream<S>, pieces: impl Stream<Item = Bytes>, sent: &Counter) -> End
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut pieces = pin!(pieces);
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            received = socket.next() => match received {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Left,
                Some(Ok(_)) => heard = Instant::now(),
            },
            piece = pieces.next() => {
                let Some(piece) = piece else { return End::Done };
                sent.inc_by(piece.len() as u64);
                match timeout(SEND_WAIT, send(socket, &piece)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return End::Left,
                    Err(_) => return End::Slow,
                }
            }
            _ = ping.tick() => {
                if heard.elapsed() >= PING_EVERY + PONG_WAIT {
                    return End::Vanished;
                }
                match timeout(SEND_WAIT, socket.send(Message::Ping(Bytes::new()))).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return End::Left,
                    Err(_) => return End::Vanished,
                }
            }
        }
    }
}

/// One text frame for each line, its line end included, as upstream has it.
async fn send<S>(socket: &mut WebSocketStream<S>, piece: &Bytes) -> Result<(), tungstenite::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut from = 0;
    for end in memchr::memchr_iter(b'\n', piece) {
        let line = Utf8Bytes::try_from(piece.slice(from..=end))
            .map_err(|error| tungstenite::Error::Utf8(error.to_string()))?;
        socket.feed(Message::Text(line)).await?;
        from = end + 1;
    }
    socket.flush().await
}

/// Says that all is sent and waits for the client to say so too, or answers the client's own farewell, which reading on
/// does; then the connection is shut down.
async fn farewell<S>(socket: &mut WebSocketStream<S>, end: End)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if end == End::Done {
        let frame = CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::default() };
        let _ = socket.close(Some(frame)).await;
    }
    while let Some(Ok(_)) = socket.next().await {}
    let _ = socket.get_mut().shutdown().await;
}

#[cfg(test)]
mod tests;
