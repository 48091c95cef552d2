use std::time::Duration;

use orrery_api::Stamp;

/// How the front serves. Bounds are upstream's defaults (AS pkg/server/options, pkg/server/secure_serving.go) where it
/// has them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Connections at a time; further ones are closed at once.
    pub connections_max: usize,
    /// Short requests at a time that change nothing; further ones are 429. Of this and the next two bounds one user may
    /// take half.
    pub reads_max: usize,
    /// Short requests at a time that change something; further ones are 429.
    pub writes_max: usize,
    /// Watches and other long requests at a time; further ones are 429.
    pub long_running_max: usize,
    /// How long a client may take for its TLS handshake, and for the head of a request. An HTTP/1.1 connection without a
    /// request is closed after as long.
    pub header_read: Duration,
    /// How long a watch lasts at least when the client names no time; at most twice as long.
    pub watch_min: Duration,
    /// How long requests in flight are waited for at the end.
    pub drain: Duration,
    /// How objects say which cluster holds them. Decides whether Tables have a CLUSTER column.
    pub stamp: Stamp,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            reads_max: 400,
            writes_max: 200,
            long_running_max: 20_000,
            header_read: Duration::from_secs(32),
            watch_min: Duration::from_secs(1800),
            drain: Duration::from_secs(10),
            stamp: Stamp::default(),
        }
    }
}
