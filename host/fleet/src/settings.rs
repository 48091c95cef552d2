use std::time::Duration;

/// Bounds and waits of a fleet. [`Default`] is what `orrery serve` uses; tests shorten waits and fix the seed.
#[derive(Clone, Debug)]
pub struct FleetSettings {
    /// What members see as User-Agent where a request brings none.
    pub user_agent: String,
    /// Seed of every jitter, so that a test replays.
    pub seed: u64,
    /// Longest wait for a TCP connection.
    pub connect: Duration,
    /// Longest wait for the head of an answer to a request of ours; beyond it the member counts as away.
    pub first_byte: Duration,
    /// Longest wait for the head of an answer to a forwarded request (upstream's request timeout).
    pub answer: Duration,
    /// How long a member may be unheard before it is probed, and how often it is probed then.
    pub probe: Duration,
    /// First and longest wait between two tries.
    pub backoff: (Duration, Duration),
    /// How long a watch that has brought bookmarks may bring nothing (kube-apiserver sends one a minute).
    pub silence: Duration,
    /// How long the initial events of a WatchList may pause before a plain list is asked instead.
    pub watch_list_pause: Duration,
    /// Range of `timeoutSeconds` of watches.
    pub watch_seconds: (u64, u64),
    /// Lists of one member that may load at a time.
    pub loads: usize,
    /// Requests of one member that may wait for an answer at a time (upstream's max-requests-inflight).
    pub requests: usize,
    /// Objects a page of a list. kube-apiserver serves pages from its cache from 1.34 on.
    pub page: usize,
    /// Bytes of watch events kept while the list they belong to is loading.
    pub replay_bytes: usize,
    /// How often discovery is read where its changes cannot be watched, and how often in any case.
    pub discovery: (Duration, Duration),
}

impl Default for FleetSettings {
    fn default() -> Self {
        Self {
            user_agent: concat!("orrery/", env!("CARGO_PKG_VERSION")).to_owned(),
            seed: 0,
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            probe: Duration::from_secs(10),
            backoff: (Duration::from_millis(200), Duration::from_secs(10)),
            silence: Duration::from_secs(100),
            watch_list_pause: Duration::from_secs(10),
            watch_seconds: (300, 600),
            loads: 4,
            requests: 400,
            page: 500,
            replay_bytes: 64 << 20,
            discovery: (Duration::from_secs(30), Duration::from_secs(300)),
        }
    }
}
