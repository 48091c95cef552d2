//! Requests to etcd, each with a deadline, and what their failures mean.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use etcd_client::{
    Certificate, Client, ConnectOptions, Error, GetOptions, GetResponse, Identity, KeyValue, KvClient, TlsOptions, Txn,
    TxnOpResponse, TxnResponse,
};
use orrery_markers::StoreError;

use super::{EtcdOpenError, EtcdSettings};
use crate::Metrics;

/// Longest wait for one answer. etcd itself gives up on a proposal after about seven seconds.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(5);
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// How often a silent connection on which an answer is awaited is asked for life, and how long it may take to show some.
/// etcd closes connections that ask more often than every five seconds.
const PING: (Duration, Duration) = (Duration::from_secs(6), Duration::from_secs(3));
/// How long what got no answer is asked for anew, and with what pauses.
const AGAIN_LIMIT: Duration = Duration::from_millis(500);
const AGAIN_STEP: Duration = Duration::from_millis(20);
/// Keys of one page of a range. Each holds less than 1 MiB, and most some kilobytes.
const PAGE_KEYS: usize = 64;
/// More than any page has.
const ANSWER_BYTES_MAX: usize = (PAGE_KEYS + 1) << 20;

/// A way to etcd: its members in turn, the next one after one that did not answer.
pub(super) struct Requests {
    members: Vec<Member>,
    current: AtomicUsize,
    options: ConnectOptions,
    metrics: Metrics,
}

struct Member {
    endpoint: String,
    /// Connected at its first use, as a member may be down when this host starts.
    client: tokio::sync::OnceCell<Client>,
}

/// Why a request has no answer to show.
#[derive(Debug)]
pub(super) enum Failure {
    /// It surely changed nothing.
    Refused(StoreError),
    /// It may have changed what it asked for, or may do so later.
    Unanswered(StoreError),
    /// The revision that it asked for was compacted away.
    Compacted,
}

/// What a lease is told to have left.
pub(super) enum Renewal {
    /// All of its time.
    Renewed,
    /// It has ended.
    Ended,
}

// === impl Requests ===

impl Requests {
    /// Reads the certificates that `settings` name. Connects to nothing yet.
    pub(super) fn new(settings: &EtcdSettings, metrics: Metrics) -> Result<Self, EtcdOpenError> {
        let mut options = ConnectOptions::new()
            .with_connect_timeout(CONNECT_LIMIT)
            .with_timeout(ANSWER_LIMIT)
            .with_keep_alive(PING.0, PING.1)
            .with_keep_alive_while_idle(false)
            .with_auto_token_refresh(true);
        if let Some((name, password)) = &settings.user {
            options = options.with_user(name, password);
        }
        if settings.endpoints.iter().any(|endpoint| endpoint.starts_with("https://")) {
            options = options.with_tls(tls(settings)?);
        }
        let endpoints = settings.endpoints.iter().map(|endpoint| endpoint.trim_end_matches('/'));
        let members: Vec<Member> = endpoints.map(Member::new).collect::<Result<_, _>>()?;
        if members.is_empty() {
            return Err(EtcdOpenError::Endpoint { endpoint: String::new(), reason: "none is given".to_owned() });
        }
        Ok(Self { members, current: AtomicUsize::new(0), options, metrics })
    }

    /// The endpoints, for people.
    pub(super) fn endpoints(&self) -> String {
        self.members.iter().map(|member| member.endpoint.as_str()).collect::<Vec<_>>().join(", ")
    }

    pub(super) async fn txn(&self, txn: Txn) -> Result<TxnResponse, Failure> {
        self.ask(|client| async move { keys_of(&client).txn(txn).await }).await
    }

    /// A transaction that only reads.
    pub(super) async fn read(&self, txn: Txn) -> Result<TxnResponse, Failure> {
        again_and_again(|| self.txn(txn.clone())).await
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<KeyValue>, Failure> {
        Ok(again_and_again(|| self.range(key, None)).await?.take_kvs().pop())
    }

    /// All keys from `first` to before `end`, as of `revision`, page by page.
    pub(super) async fn scan(&self, first: String, end: &str, revision: i64) -> Result<Vec<KeyValue>, Failure> {
        let mut found = Vec::new();
        let mut from = first.into_bytes();
        loop {
            let options = || GetOptions::new().with_range(end).with_revision(revision).with_limit(PAGE_KEYS as i64);
            let mut page = self.range(from, Some(options())).await?;
            let more = page.more();
            found.extend(page.take_kvs());
            match found.last() {
                Some(last) if more => from = [last.key(), b"\0"].concat(),
                _ => return Ok(found),
            }
        }
    }

    pub(super) async fn grant_lease(&self, lease: Duration) -> Result<i64, Failure> {
        let seconds = lease.as_secs().max(1).try_into().unwrap_or(i64::MAX);
        Ok(self.ask(|client| async move { client.lease_client().grant(seconds, None).await }).await?.id())
    }

    /// Renews the lease on a stream of its own: that is asked for every few seconds, and no stream can be lost between.
    pub(super) async fn renew_lease(&self, id: i64, limit: Duration) -> Result<Renewal, Failure> {
        let renew = |client: Client| async move {
            match client.lease_client().keep_alive(id).await {
                Ok(_) => Ok(Renewal::Renewed),
                Err(Error::LeaseKeepAliveError(_)) => Ok(Renewal::Ended),
                Err(error) => Err(error),
            }
        };
        self.ask_within(limit.min(ANSWER_LIMIT), renew).await
    }

    pub(super) async fn revoke_lease(&self, id: i64) -> Result<(), Failure> {
        self.ask(|client| async move { client.lease_client().revoke(id).await }).await.map(drop)
    }

    /// What the lease has left, in whole seconds; `None` where it has ended.
    pub(super) async fn lease_left(&self, id: i64) -> Result<Option<Duration>, Failure> {
        let left = self.ask(|client| async move { client.lease_client().time_to_live(id, None).await }).await?.ttl();
        Ok(u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_secs))
    }

    /// Shows how large etcd's database is. Nothing depends on it, so that a failure is of no interest.
    pub(super) async fn note_size(&self) {
        if let Ok(status) = self.ask(|client| async move { client.maintenance_client().status().await }).await {
            self.metrics.etcd.database_bytes.set(status.db_size());
            self.metrics.etcd.quota_bytes.set(status.db_size_quota());
        }
    }

    async fn range(&self, key: impl Into<Vec<u8>>, options: Option<GetOptions>) -> Result<GetResponse, Failure> {
        let key = key.into();
        self.ask(|client| async move { keys_of(&client).get(key, options).await }).await
    }

    async fn ask<T, F>(&self, request: impl FnOnce(Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.ask_within(ANSWER_LIMIT, request).await
    }

    async fn ask_within<T, F>(&self, limit: Duration, request: impl FnOnce(Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let current = self.current.load(Ordering::Relaxed);
        let member = &self.members[current % self.members.len()];
        let began = Instant::now();
        let asked = tokio::time::timeout(limit, async {
            let client = member
                .client
                .get_or_try_init(|| self.connect(member))
                .await
                .map_err(|error| Failure::before(&error))?;
            request(client.clone()).await.map_err(|error| Failure::of(&error))
        });
        let answer = asked.await.unwrap_or_else(|_| {
            Err(Failure::Unanswered(member.unavailable(&format!("no answer within {} s", limit.as_secs_f32()))))
        });
        self.metrics.etcd.request_seconds.observe(began.elapsed().as_secs_f64());
        if let Err(failure) = &answer {
            self.failed(current, failure);
        }
        answer
    }

    /// The next request goes to the next member, unless another failure has turned it there already.
    fn failed(&self, current: usize, failure: &Failure) {
        let Failure::Unanswered(reason) = failure else { return };
        self.metrics.etcd.unanswered.inc();
        let next = current.wrapping_add(1);
        if self.current.compare_exchange(current, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            tracing::debug!(%reason, "the next request goes to the next etcd member");
        }
    }

    async fn connect(&self, member: &Member) -> Result<Client, Error> {
        Client::connect([&member.endpoint], Some(self.options.clone())).await
    }
}

impl std::fmt::Debug for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Requests").field("endpoints", &self.endpoints()).finish_non_exhaustive()
    }
}

// === impl Member ===

impl Member {
    fn new(endpoint: &str) -> Result<Self, EtcdOpenError> {
        let wrong = |reason: &str| EtcdOpenError::Endpoint { endpoint: endpoint.to_owned(), reason: reason.to_owned() };
        let rest = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
        match rest {
            None => Err(wrong("it begins with neither http:// nor https://")),
            Some(address) if address.is_empty() || address.contains('/') => {
                Err(wrong("it is not of the form https://HOST:PORT"))
            }
            Some(_) => Ok(Self { endpoint: endpoint.to_owned(), client: tokio::sync::OnceCell::new() }),
        }
    }

    fn unavailable(&self, reason: &str) -> StoreError {
        StoreError::Unavailable(format!("etcd at {}: {reason}", self.endpoint))
    }
}

// === impl Failure ===

/// Codes of gRPC (its status codes document) after which what was asked for may be done all the same: canceled, unknown,
/// deadline exceeded, aborted, internal, unavailable, data loss.
const OPEN_CODES: [i32; 7] = [1, 2, 4, 10, 13, 14, 15];
const RESOURCE_EXHAUSTED: i32 = 8;
const OUT_OF_RANGE: i32 = 11;

impl Failure {
    /// The failure of a request that was sent. Only etcd itself can refuse: what its messages begin with is in its
    /// api/v3rpc/rpctypes.
    fn of(error: &Error) -> Self {
        let Error::GRpcStatus(status) = error else { return Self::Unanswered(unavailable(error)) };
        let (code, message) = (i32::from(status.code()), status.message());
        if !message.starts_with("etcdserver:") || OPEN_CODES.contains(&code) {
            return Self::Unanswered(unavailable(error));
        }
        match code {
            RESOURCE_EXHAUSTED if message.contains("database space exceeded") => Self::Refused(StoreError::Full(
                format!("{message}; compact and defragment etcd, then disarm its alarm"),
            )),
            OUT_OF_RANGE if message.contains("compacted") => Self::Compacted,
            _ => Self::Refused(StoreError::Unavailable(message.to_owned())),
        }
    }

    /// The failure of connecting: nothing was asked for, but the next member may do better.
    fn before(error: &Error) -> Self {
        match Self::of(error) {
            Self::Compacted => Self::Unanswered(unavailable(error)),
            failure => failure,
        }
    }

    pub(super) fn into_store_error(self) -> StoreError {
        match self {
            Self::Refused(error) | Self::Unanswered(error) => error,
            Self::Compacted => StoreError::Unavailable("etcd was compacted while it was read".to_owned()),
        }
    }
}

/// tonic says of a refused connection no more than that it is one; the reason is further down.
fn unavailable(error: &Error) -> StoreError {
    let mut text = match error {
        Error::GRpcStatus(status) => status.message().to_owned(),
        error => error.to_string(),
    };
    let mut cause = match error {
        Error::GRpcStatus(status) => std::error::Error::source(status),
        Error::TransportError(error) => std::error::Error::source(error),
        _ => None,
    };
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    StoreError::Unavailable(text)
}

fn keys_of(client: &Client) -> KvClient {
    client.kv_client().max_decoding_message_size(ANSWER_BYTES_MAX)
}

fn tls(settings: &EtcdSettings) -> Result<TlsOptions, EtcdOpenError> {
    let read =
        |path: &Path| std::fs::read(path).map_err(|source| EtcdOpenError::Unreadable { path: path.to_owned(), source });
    let Some(ca) = &settings.ca_file else {
        let endpoint = settings.endpoints.iter().find(|endpoint| endpoint.starts_with("https://"));
        return Err(EtcdOpenError::Endpoint {
            endpoint: endpoint.cloned().unwrap_or_default(),
            reason: "https:// needs the CA of its certificate; give it with --etcd-cacert".to_owned(),
        });
    };
    let mut options = TlsOptions::new().ca_certificate(Certificate::from_pem(read(ca)?));
    if let Some((certificate, key)) = &settings.client_files {
        options = options.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(options)
}

/// Asks for something that may be done twice, and for a moment once more where no answer came: often only the connection
/// was lost, and a new one is there at once.
pub(super) async fn again_and_again<T, F>(ask: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let began = Instant::now();
    loop {
        match ask().await {
            Err(Failure::Unanswered(_)) if began.elapsed() < AGAIN_LIMIT => tokio::time::sleep(AGAIN_STEP).await,
            answer => return answer,
        }
    }
}

/// The keys that an operation of a transaction has read.
pub(super) fn read_by(answer: Option<TxnOpResponse>) -> Vec<KeyValue> {
    match answer {
        Some(TxnOpResponse::Get(mut read)) => read.take_kvs(),
        _ => Vec::new(),
    }
}

/// The revision of an answer.
pub(super) fn revision_of(answer: &TxnResponse) -> i64 {
    answer.header().map_or(0, etcd_client::ResponseHeader::revision)
}
