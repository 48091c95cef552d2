//! A WebSocket to a pod: messages whose first byte is the channel that the rest is on.

use anyhow::Result;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};

use crate::client::Endpoint;

/// The receiving half.
pub(super) struct Receiver {
    io: ReadHalf<TokioIo<Upgraded>>,
    frames: Frames,
    buffer: Vec<u8>,
}

/// The sending half.
pub(super) struct Sender(WriteHalf<TokioIo<Upgraded>>);

/// Cuts the frames of a server (RFC 6455, section 5.2) into what they say on which channel.
#[derive(Debug, Default)]
struct Frames {
    /// What has come of a frame's head.
    head: Vec<u8>,
    /// Of the frame that is being read.
    opcode: u8,
    /// How much of it is still to come.
    left: usize,
    /// Of the message that is being read, once its first byte has come.
    channel: Option<u8>,
}

const CONTINUATION: u8 = 0;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;
const BUFFER_BYTES: usize = 256 << 10;
/// Of a message that is sent.
const MESSAGE_BYTES: usize = 64 << 10;

/// Opens one.
pub(super) async fn open(endpoint: &Endpoint, path: &str, protocol: &str) -> Result<(Receiver, Sender)> {
    let (reader, writer) = tokio::io::split(endpoint.upgrade(path, protocol).await?);
    Ok((Receiver { io: reader, frames: Frames::default(), buffer: vec![0; BUFFER_BYTES] }, Sender(writer)))
}

// === impl Receiver ===

impl Receiver {
    /// Waits for what comes next and tells `said` of it, with its channel. Whether the socket is still open.
    pub(super) async fn read(&mut self, said: impl FnMut(u8, &[u8])) -> Result<bool> {
        let length = self.io.read(&mut self.buffer).await?;
        Ok(length > 0 && self.frames.take(&self.buffer[..length], said))
    }
}

// === impl Sender ===

impl Sender {
    /// Sends `count` zeros on channel 0.
    pub(super) async fn zeros(&mut self, count: usize) -> Result<()> {
        let (whole, rest) = (message(MESSAGE_BYTES), count % MESSAGE_BYTES);
        for _ in 0..count / MESSAGE_BYTES {
            self.0.write_all(&whole).await?;
        }
        if rest > 0 {
            self.0.write_all(&message(rest)).await?;
        }
        Ok(self.0.flush().await?)
    }
}

/// A message of `count` zeros on channel 0. What masks them is zero, so that all behind its head is.
fn message(count: usize) -> Vec<u8> {
    const EIGHT_BYTES_OF_LENGTH: u8 = 127;
    const MASK_BYTES: usize = 4;
    const CHANNEL_BYTES: usize = 1;
    let payload = CHANNEL_BYTES + count;
    let mut message = vec![FINAL | BINARY, MASKED | EIGHT_BYTES_OF_LENGTH];
    message.extend_from_slice(&(payload as u64).to_be_bytes());
    message.resize(message.len() + MASK_BYTES + payload, 0);
    message
}

// === impl Frames ===

impl Frames {
    /// Goes on with `data`. Whether the server has more to say.
    fn take(&mut self, mut data: &[u8], mut said: impl FnMut(u8, &[u8])) -> bool {
        while !data.is_empty() {
            if self.left == 0 {
                self.head.push(data[0]);
                data = &data[1..];
                let Some(length) = length_of(&self.head) else { continue };
                (self.opcode, self.left) = (self.head[0] & 0xf, length);
                self.head.clear();
                match self.opcode {
                    CLOSE => return false,
                    BINARY => self.channel = None,
                    _ => {}
                }
                continue;
            }
            let (mut payload, rest) = data.split_at(self.left.min(data.len()));
            (self.left, data) = (self.left - payload.len(), rest);
            if !matches!(self.opcode, BINARY | CONTINUATION) {
                continue;
            }
            let channel = *self.channel.get_or_insert_with(|| {
                let channel = payload[0];
                payload = &payload[1..];
                channel
            });
            said(channel, payload);
        }
        true
    }
}

/// How long the payload behind a whole head is; `None` while the head is not whole. Servers do not mask.
fn length_of(head: &[u8]) -> Option<usize> {
    let (rest, length) = (head.get(2..)?, head[1] & !MASKED);
    match length {
        126 => Some(usize::from(u16::from_be_bytes(rest.try_into().ok()?))),
        127 => usize::try_from(u64::from_be_bytes(rest.try_into().ok()?)).ok(),
        short => Some(usize::from(short)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let length = match payload.len() {
            short @ 0..126 => vec![short as u8],
            long => [vec![126], (long as u16).to_be_bytes().to_vec()].concat(),
        };
        [vec![first], length, payload.to_vec()].concat()
    }

    #[test]
    fn messages_are_told_by_channel_however_the_bytes_come_and_nothing_after_the_close_is() {
        let long = [vec![1], vec![7; 300]].concat();
        let bytes = [
            frame(FINAL | BINARY, &long),
            frame(FINAL | 9, b"there?"),
            frame(BINARY, b"\x03begun "),
            frame(FINAL | CONTINUATION, b"and ended"),
            frame(FINAL | BINARY, b"\x02"),
            frame(FINAL | CLOSE, b""),
            frame(FINAL | BINARY, b"\x02late"),
        ]
        .concat();
        for piece in [1, 2, 7, 1000] {
            let (mut frames, mut said) = (Frames::default(), [const { Vec::new() }; 4]);
            let mut tell = |channel: u8, data: &[u8]| said[usize::from(channel)].extend_from_slice(data);
            let open = bytes.chunks(piece).all(|data| frames.take(data, &mut tell));
            assert!(!open, "{piece}");
            assert_eq!(said, [vec![], vec![7; 300], vec![], b"begun and ended".to_vec()], "{piece}");
        }
    }

    #[test]
    fn what_is_sent_says_how_long_it_is() {
        let sent = message(300);
        assert_eq!(sent[..2], [0x82, 0xff]);
        assert_eq!(u64::from_be_bytes(sent[2..10].try_into().unwrap()), 301);
        assert_eq!(sent.len(), 10 + 4 + 301);
    }
}
