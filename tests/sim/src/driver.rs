//! What is done to members, store, clock and host, and in which order.

mod act;
mod settle;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use orrery_api::ClusterName;
use orrery_sim::{Cluster, Snapshot};
use orrery_stores::MemoryStore;
use orrery_stores::testing::Faulty;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::Tally;
use crate::dice::Dice;
use crate::host::{Address, Clock, Host, Setup, Store};
use crate::informer::{Informer, Known, Part, Replay, Scope};
use crate::laws::Laws;
use crate::truth::{Subject, Truth};

/// How long a run is.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Things done to members and host before all is let come to rest.
    pub steps: u64,
    /// Whether what is done is printed as it is done.
    pub loud: bool,
}

pub(crate) struct Driver {
    dice: Dice,
    plan: Plan,
    pub(crate) sites: Vec<Site>,
    subjects: Vec<Subject>,
    pub(crate) truth: Truth,
    laws: Laws,
    clock: Clock,
    pub(crate) store: Store,
    /// Whether writes fail now and then, by a seed of their own.
    store_fails: bool,
    backup: Option<MemoryStore>,
    /// Either the clock is set back in this run or the store is lost: only both together may break a law.
    clock_goes_back: bool,
    cache_bytes: u64,
    /// Whether members are observed namespace by namespace.
    by_namespace: bool,
    host: Option<Host>,
    address: Address,
    watchers: Vec<(Scope, Known)>,
    tasks: JoinSet<()>,
    begun: Instant,
    started: Instant,
    trace: Vec<String>,
}

/// A member, and what the driver keeps of it.
pub(crate) struct Site {
    pub(crate) name: ClusterName,
    pub(crate) cluster: Cluster,
    joined: bool,
    /// Whether it may not answer in time.
    is_sick: bool,
    /// Whether its connections may break at any time.
    is_armed: bool,
    snapshot: Option<Snapshot>,
    incarnation: u32,
}

// === impl Driver ===

impl Driver {
    pub(crate) fn new(mut dice: Dice, plan: &Plan) -> Self {
        let second = dice.within(0..4);
        let mut subjects = vec![Subject::config_maps()];
        match second {
            0 => subjects.push(Subject::namespaces()),
            1 => subjects.push(Subject::widgets()),
            2 => subjects.push(Subject::moons()),
            _ => {}
        }
        let members = dice.within(1..4);
        let store_fails = dice.once_in(2);
        let clock_goes_back = dice.once_in(2);
        let cache_bytes = *dice.pick(&[1 << 30, 1 << 30, 1 << 20, 64 << 10]);
        let by_namespace = dice.once_in(6);
        let minor = *dice.pick(&[37, 37, 35, 33]);
        let driver = Self::of(members, subjects, store_fails, dice);
        driver.sites.iter().for_each(|site| site.cluster.set_minor(minor));
        Self { plan: *plan, clock_goes_back, cache_bytes, by_namespace, ..driver }
    }

    /// A driver of so many members that does nothing by itself.
    pub(crate) fn of(members: u64, subjects: Vec<Subject>, store_fails: bool, mut dice: Dice) -> Self {
        let mut driver = Self {
            plan: Plan { steps: 0, loud: false },
            sites: (0..members).map(|number| Site::new(number, &subjects)).collect(),
            subjects,
            truth: Truth::default(),
            laws: Laws::default(),
            clock: Clock::new(),
            store: new_store(MemoryStore::new(), store_fails, &mut dice),
            store_fails,
            backup: None,
            clock_goes_back: false,
            cache_bytes: 1 << 30,
            by_namespace: false,
            host: None,
            address: Address::default(),
            watchers: Vec::new(),
            tasks: JoinSet::new(),
            begun: Instant::now(),
            started: Instant::now(),
            trace: Vec::new(),
            dice,
        };
        driver.begin_watchers();
        driver
    }

    /// Does it all, lets it come to rest, and looks at what clients have.
    pub(crate) async fn run(&mut self) -> Result<Tally, String> {
        for _ in 0..self.dice.within(0..10) {
            self.churn();
        }
        self.start_host();
        for _ in 0..self.plan.steps {
            sleep(self.dice.pause()).await;
            self.act().await;
            self.judge()?;
        }
        self.settle().await?;
        self.judge()?;
        self.tasks.abort_all();
        Ok(self.laws.tally())
    }

    pub(crate) fn into_trace(self) -> Vec<String> {
        self.trace
    }

    pub(crate) fn judge(&self) -> Result<(), String> {
        self.laws.violation().map_or(Ok(()), Err)
    }

    fn note(&mut self, what: fmt::Arguments<'_>) {
        let line = format!("{:>9.3} s  {what}", self.begun.elapsed().as_secs_f64());
        if self.plan.loud {
            say(&line);
        }
        self.trace.push(line);
    }

    fn begin_watchers(&mut self) {
        for subject in self.subjects.clone() {
            let mut parts = vec![Part::All, Part::All];
            if subject.kind.namespaced {
                parts.push(Part::Namespace("a"));
                parts.push(Part::Cluster(self.sites[0].name.clone()));
            }
            let scopes = subject
                .versions()
                .into_iter()
                .flat_map(|gvr| parts.clone().into_iter().map(move |part| Scope { gvr: gvr.clone(), part }));
            for scope in scopes {
                let known = Known::default();
                let informer = Informer {
                    scope: scope.clone(),
                    laws: self.laws.clone(),
                    truth: self.truth.clone(),
                    address: self.address.clone(),
                    dice: self.dice.fork(),
                    known: known.clone(),
                    state: Replay::default(),
                };
                self.tasks.spawn(informer.run());
                self.watchers.push((scope, known));
            }
        }
    }

    pub(crate) fn start_host(&mut self) {
        self.started = Instant::now();
        let may_be_away =
            |site: &&Site| site.is_sick || site.is_armed || site.cluster.mode() != orrery_sim::Mode::Serving;
        self.sites.iter().filter(may_be_away).for_each(|site| self.laws.doubt(&site.name));
        self.laws.count(|tally| tally.starts += 1);
        let host = Host::start(Setup {
            members: self.members(),
            store: self.store.clone(),
            clock: self.clock.clone(),
            seed: self.dice.next(),
            cache_bytes: self.cache_bytes,
            namespaces: self.by_namespace.then(|| vec!["a".to_owned(), "b".to_owned()]),
        });
        self.address.set(Some(&host));
        self.host = Some(host);
    }

    pub(crate) fn doubt_all(&self) {
        self.sites.iter().for_each(|site| self.laws.doubt(&site.name));
    }

    pub(crate) fn kill_host(&mut self) {
        self.address.set(None);
        if let Some(host) = self.host.take() {
            host.kill();
        }
    }

    /// The members of now, in fleet order.
    fn members(&self) -> Vec<(ClusterName, Cluster)> {
        let joined = self.sites.iter().filter(|site| site.joined);
        joined.map(|site| (site.name.clone(), site.cluster.clone())).collect()
    }

    /// One change of one object.
    fn churn(&mut self) {
        let at = self.dice.within(0..self.sites.len() as u64) as usize;
        let subject = self.dice.pick(&self.subjects).clone();
        let (site, key) = (&self.sites[at], subject.key(&mut self.dice));
        self.truth.put(&site.name, &site.cluster, subject.gvr(), &key, false);
    }
}

// === impl Site ===

impl Site {
    fn new(number: u64, subjects: &[Subject]) -> Self {
        let name = ClusterName::new(&format!("m{number}")).expect("a letter and a digit");
        let kinds = subjects.iter().map(|subject| subject.kind.clone());
        let cluster = Cluster::new(&format!("{name}-0"), kinds);
        Self { name, cluster, joined: true, is_sick: false, is_armed: false, snapshot: None, incarnation: 0 }
    }
}

fn new_store(inner: MemoryStore, fails: bool, dice: &mut Dice) -> Store {
    let seed = dice.next();
    Arc::new(if fails { Faulty::seeded(inner, seed) } else { Faulty::scripted(inner, []) })
}

/// How long the host is down after a crash.
fn down_time(dice: &mut Dice) -> Duration {
    Duration::from_millis(*dice.pick(&[10, 500, 3_000, 30_000, 100_000]))
}

#[expect(clippy::print_stdout, reason = "for who replays a seed")]
fn say(line: &str) {
    println!("{line}");
}
