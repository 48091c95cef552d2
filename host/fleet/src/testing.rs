//! What fuzzing calls: readers of what members send. Each must bear any bytes.

use bytes::Bytes;

use crate::wire::{Event, Frames, Scheme};

/// Cuts a watch's body into events and reads them; wherever the body is cut in two, they are the same.
pub fn watch_frames(body: &[u8]) {
    let scheme = Scheme::new("v1", "v1.37.0");
    let whole = events(&[body], scheme);
    let (first, second) = body.split_at(body.len() / 2);
    assert_eq!(events(&[first, second], scheme), whole, "events differ by where the body is cut");
}

fn events(chunks: &[&[u8]], scheme: Scheme) -> Vec<String> {
    let (mut frames, mut events) = (Frames::default(), Vec::new());
    for chunk in chunks {
        frames.push(&Bytes::copy_from_slice(chunk));
        while let Ok(Some(line)) = frames.next() {
            events.push(format!("{:?}", Event::read(&line, scheme)));
        }
    }
    events
}
