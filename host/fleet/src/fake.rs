//! A fleet of simulated members, for the tests of this crate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use http::{HeaderValue, Request};
use http_body_util::BodyExt as _;
use orrery_api::{ClusterName, Gvr, ObjectKey};
use orrery_sim::{Cluster, Kind, State};

use crate::transport::{Body, BodyError};
use crate::{ConnectError, Endpoint, Fleet, FleetSettings, Member, MemberSource, Metrics, Traffic, Transport};

/// A simulated member with ConfigMaps, and the way to it. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Fake {
    pub(crate) cluster: Cluster,
    link: Arc<Mutex<Link>>,
}

/// The way to the member, as a kubeconfig has it.
#[derive(Debug)]
struct Link {
    token: u32,
    place: u64,
    /// Paths of all requests for objects.
    requests: Vec<String>,
}

/// The revision of a member without objects.
const FIRST: u64 = 10;

// === impl Fake ===

impl Fake {
    pub(crate) fn new(uid: &str) -> Self {
        let cluster = Cluster::new(uid, [Kind::config_maps()]);
        cluster.pass(FIRST - cluster.revision());
        let fake = Self { cluster, link: Arc::new(Mutex::new(Link { token: 1, place: 1, requests: Vec::new() })) };
        fake.take_token(1);
        fake
    }

    /// A fleet of this member alone, named `east`.
    pub(crate) fn fleet(&self, settings: FleetSettings) -> (Fleet, Member) {
        let east = ClusterName::new("east").unwrap();
        let fleet = Fleet::start_with(vec![(east.clone(), Arc::new(self.clone()))], settings, Metrics::default());
        let member = fleet.member(&east).unwrap();
        (fleet, member)
    }

    /// Creates or changes a ConfigMap.
    pub(crate) fn put(&self, namespace: &str, name: &str, text: &str) {
        self.cluster.put(&config_maps(), &ObjectKey::new(namespace, name), text).unwrap();
    }

    pub(crate) fn delete(&self, namespace: &str, name: &str) {
        self.delete_all(&[(namespace, name)]);
    }

    /// Deletes all of them in one transaction: their events share a version.
    pub(crate) fn delete_all(&self, keys: &[(&str, &str)]) {
        let keys: Vec<_> = keys.iter().map(|(namespace, name)| ObjectKey::new(namespace, name)).collect();
        self.cluster.delete(&config_maps(), &keys).unwrap();
    }

    pub(crate) fn objects(&self) -> BTreeMap<ObjectKey, State> {
        self.cluster.objects(&config_maps())
    }

    /// Watches of ConfigMaps that are open.
    pub(crate) fn watches(&self) -> usize {
        self.cluster.watches(&config_maps())
    }

    /// The member takes this token from now on, and no other.
    pub(crate) fn take_token(&self, token: u32) {
        self.cluster.set_token(Some(&token.to_string()));
    }

    /// The configuration has this token from now on.
    pub(crate) fn configure_token(&self, token: u32) {
        self.link().token = token;
    }

    /// The configuration names another server from now on.
    pub(crate) fn move_place(&self) {
        self.link().place += 1;
    }

    /// Requests for lists and watches of objects so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.link().requests.clone()
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap()
    }

    async fn send(self, token: u32, mut request: Request<Body>) -> Result<http::Response<Body>, BodyError> {
        if request.uri().path().ends_with("/configmaps") {
            self.link().requests.push(request.uri().to_string());
        }
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
        request.headers_mut().insert(http::header::AUTHORIZATION, bearer);
        let response = self.cluster.answer(request).await.map_err(BodyError::new)?;
        Ok(response.map(|body| body.map_err(BodyError::new).boxed_unsync()))
    }
}

#[async_trait]
impl MemberSource for Fake {
    async fn connect(&self, _: &FleetSettings, _: &Traffic) -> Result<Endpoint, ConnectError> {
        let Link { token, place, .. } = *self.link();
        let fake = self.clone();
        let service = tower::service_fn(move |request| fake.clone().send(token, request));
        Ok(Endpoint { transport: Transport::new(service), server: "simulated".to_owned(), place, authority: 1 })
    }
}

fn config_maps() -> Gvr {
    Kind::config_maps().gvr
}
