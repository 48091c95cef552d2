use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orrery_api::placement::Label;
use orrery_api::{ClusterName, Gvr};
use orrery_sim::Mode;
use tokio::time::{sleep, timeout};

use super::*;
use crate::fake::Fake;
use crate::{ConnectError, Endpoint, Fleet, MemberSpec, Metrics, ResourceInfo, SendError, Traffic};

fn name(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

fn fleet(members: &[(&str, &Fake)], settings: FleetSettings) -> Fleet {
    Fleet::start_with(sources(members), settings, Metrics::default())
}

fn sources(members: &[(&str, &Fake)]) -> Vec<(ClusterName, Arc<dyn MemberSource>)> {
    members.iter().map(|(called, fake)| (name(called), Arc::new((*fake).clone()) as Arc<dyn MemberSource>)).collect()
}

/// Waits until something of the fleet is so.
async fn until(fleet: &Fleet, is_so: impl Fn() -> bool) {
    let mut changed = fleet.changed();
    let waiting = async {
        while !is_so() {
            changed.changed().await.unwrap();
        }
    };
    timeout(Duration::from_secs(120), waiting).await.expect("it becomes so within two minutes");
}

fn get(path: &str) -> http::Request<crate::Body> {
    http::Request::get(path).body(crate::transport::empty()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_names_of_one_cluster_are_named_and_the_later_is_used_once_the_earlier_is_gone() {
    let (one, other) = (Fake::new("same"), Fake::new("other"));
    let fleet = fleet(&[("first", &one), ("other", &other), ("second", &one)], FleetSettings::default());
    until(&fleet, || !fleet.duplicates().is_empty()).await;
    assert_eq!(fleet.duplicates(), [(name("first"), name("second"))]);
    let second = fleet.member(&name("second")).unwrap();
    let Health::NeverSeen { reason } = second.health() else { panic!("{:?}", second.health()) };
    assert!(reason.contains("first") && reason.contains("same"), "{reason}");
    assert!(matches!(second.send(get("/version")).await, Err(SendError::Duplicate { .. })));
    fleet.replace_with(sources(&[("other", &other), ("second", &one)])).await;
    until(&fleet, || second.health() == Health::Reachable).await;
    assert!(fleet.duplicates().is_empty());
    assert!(second.send(get("/version")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn members_join_and_leave_by_name_and_those_that_stay_stay_the_same() {
    let (a, b, c) = (Fake::new("a"), Fake::new("b"), Fake::new("c"));
    let fleet = fleet(&[("a", &a), ("b", &b)], FleetSettings::default());
    until(&fleet, || fleet.members().iter().all(|member| member.health() == Health::Reachable)).await;
    let before = fleet.member(&name("b")).unwrap();
    let changes = *fleet.changed().borrow();
    fleet.replace_with(sources(&[("c", &c), ("b", &b)])).await;
    assert!(*fleet.changed().borrow() > changes);
    let names: Vec<_> = fleet.members().iter().map(|member| member.name().to_string()).collect();
    assert_eq!(names, ["c", "b"]);
    assert!(Arc::ptr_eq(&before.0, &fleet.member(&name("b")).unwrap().0));
    until(&fleet, || fleet.member(&name("c")).unwrap().health() == Health::Reachable).await;
    assert!(fleet.member(&name("a")).is_none());
}

#[tokio::test(start_paused = true)]
async fn what_a_member_serves_is_kept_while_it_is_away() {
    let fake = Fake::new("a");
    let fleet = fleet(&[("a", &fake)], FleetSettings::default());
    let member = fleet.member(&name("a")).unwrap();
    assert_eq!(member.health(), Health::NeverSeen { reason: String::new() });
    assert_eq!(member.last_seen(), None);
    until(&fleet, || member.discovery().is_some()).await;
    let configmaps = Gvr::new("", "v1", "configmaps");
    assert!(member.discovery().unwrap().find(&configmaps).is_some_and(ResourceInfo::is_observable));
    assert_eq!(member.version().unwrap().minor, 37);
    fake.cluster.set_mode(Mode::Refusing);
    until(&fleet, || matches!(member.health(), Health::Unreachable { .. })).await;
    sleep(Duration::from_secs(600)).await;
    assert!(member.discovery().unwrap().find(&configmaps).is_some());
    let unheard = member.unheard().unwrap();
    assert!(unheard >= Duration::from_secs(600), "{unheard:?}");
    fake.cluster.set_mode(Mode::Serving);
    until(&fleet, || member.health() == Health::Reachable).await;
}

/// A member whose kubeconfig never gives credentials, and how often it was read.
#[derive(Debug, Default)]
struct Broken(std::sync::atomic::AtomicU32);

#[async_trait]
impl MemberSource for Broken {
    async fn connect(&self, _: &FleetSettings, _: &Traffic) -> Result<Endpoint, ConnectError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(ConnectError::Other("no such plugin".to_owned()))
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_cannot_be_made_are_the_reason_and_are_not_tried_without_pause() {
    let broken = Arc::new(Broken::default());
    let fleet = Fleet::start_with(vec![(name("a"), broken.clone())], FleetSettings::default(), Metrics::default());
    let member = fleet.member(&name("a")).unwrap();
    for _ in 0..50 {
        let error = member.send(get("/version")).await.unwrap_err();
        assert!(error.is_unsent() && crate::transport::chain(&error).contains("no such plugin"), "{error:?}");
    }
    assert_eq!(broken.0.load(Ordering::Relaxed), 1);
    until(&fleet, || matches!(member.health(), Health::NeverSeen { reason } if reason.contains("no such plugin")))
        .await;
    sleep(Duration::from_secs(60)).await;
    assert!((2..=31).contains(&broken.0.load(Ordering::Relaxed)), "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn only_so_many_requests_wait_for_a_member() {
    let fake = Fake::new("a");
    let settings = FleetSettings { requests: 2, ..FleetSettings::default() };
    let fleet = fleet(&[("a", &fake)], settings);
    let member = fleet.member(&name("a")).unwrap();
    until(&fleet, || member.discovery().is_some()).await;
    fake.cluster.set_mode(Mode::Silent);
    let waiting = (0..8).map(|_| member.send(get("/version")));
    let ended = futures::future::join_all(waiting).await;
    assert!(ended.iter().all(|result| matches!(result, Err(SendError::NoAnswer { .. } | SendError::Busy { .. }))));
    assert!(ended.iter().any(|result| matches!(result, Err(SendError::Busy { limit: 2, .. }))));
}

#[tokio::test(start_paused = true)]
async fn labels_are_those_of_the_configuration_that_was_read_last() {
    let spec = |region: &str| {
        let label = Label::new("region", region).unwrap();
        let attributes = ClusterAttributes { labels: [label].into_iter().collect(), taints: Vec::new() };
        MemberSpec { name: name("a"), kubeconfig: Vec::new(), context: None, attributes: Arc::new(attributes) }
    };
    let fleet = Fleet::start(vec![spec("eu")], FleetSettings::default(), Metrics::default());
    let member = fleet.member(&name("a")).unwrap();
    assert_eq!(member.attributes().labels["region"], "eu");
    fleet.replace(vec![spec("us")]).await;
    assert_eq!(member.attributes().labels["region"], "us", "the member is the same, its label another");
}
