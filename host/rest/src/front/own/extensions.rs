//! `/orrery/v1/extensions`, `/try`, `/place` and `/scores`: what `orrery plugin`, `policy` and `place` ask.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response};
use orrery_api::extension::{ExtensionKind, ExtensionName};
use orrery_api::placement::{FailurePolicy, Unit};
use orrery_api::status as document;
use orrery_extensions::Registry;
use orrery_placement::{Judged, Outcome, Skipped};
use orrery_sequencer::Resource;
use serde_json::Value;

use super::line;
use crate::body::{Body, Encoding};
use crate::front::Service;
use crate::front::resource::{Placed, now_ms, said, whole};
use crate::request::RequestInfo;
use crate::status::Status;

/// Longest body: the largest component.
const BODY_BYTES_MAX: usize = 32 << 20;

/// How long a body may take.
const BODY_WAIT: Duration = Duration::from_secs(30);

/// How far a replay goes back that does not say: a day.
const SINCE_S: u64 = 24 * 60 * 60;

// === impl Service ===

impl Service {
    /// Answers the paths of extensions; `None` for another.
    pub(super) async fn own_extensions(
        &self,
        path: &[&str],
        info: &RequestInfo,
        request: Request<Body>,
        encoding: Encoding,
    ) -> Result<Option<Response<Body>>, Status> {
        let get = matches!(info.method, Method::GET | Method::HEAD);
        let registry = || {
            let none = "no extensions are loaded: start the host with --extensions DIR";
            self.front.policies.registry().ok_or_else(|| Status::nothing_here(none))
        };
        Ok(Some(match path {
            ["extensions"] if get => {
                let extensions = self.front.policies.registry().map(Registry::statuses).unwrap_or_default();
                line(&document::Extensions { extensions }, encoding)
            }
            ["extensions", kind, name] if get => {
                line(&registry()?.status(&named(kind, name)?).ok_or_else(|| no_such(kind, name))?, encoding)
            }
            ["extensions", kind, name, "logs"] if get => {
                line(&registry()?.logs(&named(kind, name)?).ok_or_else(|| no_such(kind, name))?, encoding)
            }
            ["extensions", kind, name, "rollback"] if info.method == Method::POST => {
                let extension = named(kind, name)?;
                let put_back = registry()?.roll_back(&extension).await.ok_or_else(|| no_such(kind, name))?;
                put_back
                    .ok_or_else(|| Status::bad_request(format!("{extension} has no generation before this one")))?;
                line(&registry()?.status(&extension), encoding)
            }
            ["extensions", kind, name, "replay"] if info.method == Method::POST => {
                let since = info.query.get("since").and_then(|seconds| seconds.parse().ok()).unwrap_or(SINCE_S);
                let since = SystemTime::now().checked_sub(Duration::from_secs(since)).unwrap_or(SystemTime::UNIX_EPOCH);
                let bytes = body(request).await?;
                let replay = registry()?.replay(&named(kind, name)?, &bytes, since).await;
                let replay = replay.ok_or_else(|| no_such(kind, name))?;
                line(&replay.map_err(|refusal| Status::bad_request(refusal.to_string()))?, encoding)
            }
            ["extensions", "CelPolicy", name, "explain"] if info.method == Method::POST => {
                let (unit, _) = self.unit_of(request).await?;
                let candidates = self.candidates(&unit, None, true).await;
                let explained = registry()?.explain(&named("CelPolicy", name)?, &unit, &candidates, now_ms()).await;
                let explained = explained.ok_or_else(|| no_such("CelPolicy", name))?;
                line(&explained.map_err(|error| Status::bad_request(error.to_string()))?, encoding)
            }
            ["try"] if info.method == Method::POST => line(&tried(registry()?, request).await?, encoding),
            ["place"] if info.method == Method::POST => line(&self.would_place(request).await?, encoding),
            ["scores"] if info.method == Method::POST => {
                self.take_scores(&body(request).await?)?;
                line(&serde_json::json!({}), encoding)
            }
            _ => return Ok(None),
        }))
    }

    /// Where the object of the manifest in the body would go.
    async fn would_place(&self, request: Request<Body>) -> Result<document::Placement, Status> {
        let (unit, resource) = self.unit_of(request).await?;
        let placed = self.decision(&unit, &resource).await;
        Ok(placement(&unit, placed))
    }

    /// The object of the manifest in the body, with its resource.
    async fn unit_of(&self, request: Request<Body>) -> Result<(Unit, Resource), Status> {
        let bytes = body(request).await?;
        let object: Value = serde_json::from_slice(&bytes)
            .map_err(|error| Status::bad_request(format!("the body is no manifest in JSON: {error}")))?;
        let field = |key: &str| object[key].as_str().unwrap_or_default();
        let (api_version, kind) = (field("apiVersion"), field("kind"));
        let documents = self.documents();
        let served = documents.catalog.of_kind(api_version, kind);
        let served = served.ok_or_else(|| Status::nothing_here(format!("no member serves {kind} of {api_version}")))?;
        let namespace = match object["metadata"]["namespace"].as_str() {
            _ if !served.namespaced => "",
            Some(namespace) => namespace,
            None => "default",
        };
        let not_ready = |error: orrery_sequencer::NotReady| Status::too_many_requests(error.to_string(), 1);
        let resource = self.front.sequencer.resource(&served.gvr).await.map_err(not_ready)?;
        Ok((Unit::read(served.gvr.clone(), namespace, &object), resource))
    }

    fn take_scores(&self, body: &Bytes) -> Result<(), Status> {
        let one_or_more = match serde_json::from_slice(body) {
            Ok(Value::Array(scores)) => scores,
            Ok(one) => vec![one],
            Err(error) => return Err(Status::bad_request(format!("the body is no score in JSON: {error}"))),
        };
        for score in one_or_more {
            let score: document::ClusterScore = serde_json::from_value(score).map_err(|error| {
                let right = r#"{"cluster": "east", "name": "cost", "value": 7}"#;
                Status::bad_request(format!("{error}; a score is written as {right}"))
            })?;
            if self.front.fleet.members().iter().all(|member| *member.name() != score.cluster) {
                return Err(Status::bad_request(format!("no cluster is called {}", score.cluster)));
            }
            if !self.scores.say(score) {
                return Err(Status::too_many_requests("more scores than the host keeps", 60));
            }
        }
        Ok(())
    }
}

async fn tried(registry: &Registry, request: Request<Body>) -> Result<Vec<document::Trial>, Status> {
    let is_component = request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/wasm");
    let bytes = body(request).await?;
    if is_component {
        return Ok(vec![registry.try_component(&bytes).await]);
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| Status::bad_request("the body is no text"))?;
    registry.try_rules(text).await.map_err(|error| Status::bad_request(error.to_string()))
}

async fn body(request: Request<Body>) -> Result<Bytes, Status> {
    whole(request.into_body(), BODY_BYTES_MAX, BODY_WAIT).await
}

fn named(kind: &str, name: &str) -> Result<ExtensionName, Status> {
    let kind = match kind {
        "Plugin" => ExtensionKind::Plugin,
        "CelPolicy" => ExtensionKind::CelPolicy,
        other => return Err(Status::nothing_here(format!("{other:?} is no kind of extension: Plugin, CelPolicy"))),
    };
    ExtensionName::new(kind, name).map_err(|error| Status::bad_request(error.to_string()))
}

fn no_such(kind: &str, name: &str) -> Status {
    Status::nothing_here(format!("there is no {kind} {name}"))
}

fn placement(unit: &Unit, placed: Placed) -> document::Placement {
    let mut placement = document::Placement {
        unit: unit.to_string(),
        policy: placed.policy.map(|policy| policy.to_string()),
        ..document::Placement::default()
    };
    match placed.decision {
        Ok(decision) => {
            placement.cluster = Some(decision.cluster);
            placement.clusters = decision.clusters.into_iter().map(cluster).collect();
            placement.skipped = decision.skipped.iter().map(skipped).collect();
        }
        Err(orrery_placement::PlacementError::NoneFits { dropped }) => {
            let out = |(name, dropped): (_, orrery_placement::Dropped)| document::PlacementCluster {
                name,
                score: None,
                stages: Vec::new(),
                dropped: Some(dropped.to_string()),
            };
            placement.clusters = dropped.into_iter().map(out).collect();
        }
        Err(error) => placement.failure = Some(said(&error)),
    }
    placement
}

fn cluster(judged: Judged) -> document::PlacementCluster {
    let (score, dropped) = match judged.outcome {
        Outcome::Stays { score } => (Some(score), None),
        Outcome::Dropped(dropped) => (None, Some(dropped.to_string())),
    };
    let given = |(stage, score): (String, orrery_api::placement::Score)| document::StageScore {
        stage,
        score: score.value().into(),
    };
    document::PlacementCluster {
        name: judged.cluster,
        score,
        stages: judged.given.into_iter().map(given).collect(),
        dropped,
    }
}

fn skipped(Skipped { stage, failure, instead }: &Skipped) -> String {
    let instead = match instead {
        FailurePolicy::Reject => "rejected",
        FailurePolicy::Skip => "skipped",
        FailurePolicy::UseBuiltin => "the built-in stage judged",
        FailurePolicy::UseLastKnown => "what it said last was said again",
    };
    format!("{stage}: {failure}; {instead}")
}
