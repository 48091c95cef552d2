//! Kinds that can only be created: reviews, which answer a question and are kept nowhere (design 1).

use futures::stream::{self, StreamExt as _};
use http::Response;
use http::header::WARNING;
use orrery_api::ClusterName;
use orrery_fleet::Member;
use serde_json::Value;

use super::send::{Outgoing, Sent};
use super::{Call, route};
use crate::body::{Body, json};
use crate::front::Service;
use crate::read::warning;
use crate::status::Status;

/// Members that are asked at a time.
const ASKED_AT_ONCE: usize = 32;

// === impl Service ===

impl Service {
    /// Answers a review: by the member that it names, else by all that serve it. What is allowed is allowed by all, and who
    /// refuses is named.
    pub(super) async fn review(&self, call: &Call<'_>) -> Result<Response<Body>, Status> {
        if super::accepts_table(&call.headers) {
            return Err(super::not_acceptable("Table", "is a review, which has no metadata"));
        }
        let facts = call.facts();
        let named = route::named(&facts).map(|name| self.member_named(call, name)).transpose()?;
        let members = self.front.fleet.members();
        let serves = |member: &&Member| {
            let serves = member.discovery().is_some_and(|served| served.find(&call.asked.gvr).is_some());
            serves && named.as_ref().is_none_or(|named| named == member.name())
        };
        let asking: Vec<_> = members.iter().filter(serves).map(|member| self.ask_one(call, member)).collect();
        let answers: Vec<_> = stream::iter(asking).buffered(ASKED_AT_ONCE).collect().await;
        let (mut said, mut silent) = (Vec::new(), Vec::new());
        for (cluster, answer) in answers {
            match answer {
                Ok(sent) => said.push((cluster, sent)),
                Err(status) => silent.push((cluster, status)),
            }
        }
        let Some((_, first)) = said.first() else {
            return Err(silent.into_iter().next().map_or_else(Status::no_such_resource, |(_, status)| status));
        };
        // A refusal is the same for all: the review itself is wrong.
        let (code, first) = (first.code, first.text().to_owned());
        let body = if code.is_success() && said.len() > 1 { merged(&said).unwrap_or(first) } else { first };
        let mut response = json(code, body.into_bytes(), call.encoding);
        for (_, sent) in said {
            for warning in sent.warnings {
                response.headers_mut().append(WARNING, warning);
            }
        }
        for (cluster, status) in silent {
            if let Some(header) = warning(&format!("cluster {cluster} did not answer this review: {status}")) {
                response.headers_mut().append(WARNING, header);
            }
        }
        Ok(response)
    }

    async fn ask_one(&self, call: &Call<'_>, member: &Member) -> (ClusterName, Result<Sent, Status>) {
        let name = member.name().clone();
        let ask = async {
            self.reachable(call, &name)?;
            let path = call.info.query.behind(call.asked.gvr.path_in(&call.asked.namespace));
            self.send(call, member, Outgoing::of(call, path, call.body.to_vec())).await
        };
        (name.clone(), ask.await)
    }
}

/// The first answer, with what the others add: `allowed` of access reviews is all of theirs, and a reason tells who refuses;
/// rules are those of all.
fn merged(said: &[(ClusterName, Sent)]) -> Option<String> {
    let mut reviews: Vec<(&ClusterName, Value)> = Vec::new();
    for (cluster, sent) in said.iter().filter(|(_, sent)| sent.code.is_success()) {
        reviews.push((cluster, serde_json::from_slice(&sent.bytes).ok()?));
    }
    let is_allowed = |review: &Value| review["status"]["allowed"] == true;
    let refusing: Vec<_> = reviews.iter().filter(|(_, review)| !is_allowed(review)).collect();
    let (_, first) = reviews.first()?;
    if first["status"].get("allowed").is_some() {
        let (_, mut answer) = (*refusing.first().unwrap_or(&&reviews[0])).clone();
        if !refusing.is_empty() && refusing.len() < reviews.len() {
            let names: Vec<_> = refusing.iter().map(|(cluster, _)| cluster.as_str()).collect();
            let reason = answer["status"]["reason"].as_str().unwrap_or_default();
            let colon = if reason.is_empty() { "" } else { ": " };
            answer["status"]["reason"] = format!("not allowed in {}{colon}{reason}", names.join(", ")).into();
        }
        return Some(line(&answer));
    }
    let mut answer = first.clone();
    for rules in ["resourceRules", "nonResourceRules"] {
        let Some(own) = answer["status"].get(rules).and_then(Value::as_array).cloned() else { continue };
        let in_all = |rule: &Value| {
            reviews
                .iter()
                .all(|(_, review)| review["status"][rules].as_array().is_some_and(|known| known.contains(rule)))
        };
        answer["status"][rules] = own.into_iter().filter(in_all).collect();
    }
    Some(line(&answer))
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;

    use super::*;

    fn merge(reviews: &[(&str, Value)]) -> Value {
        let sent = |value: &Value| Sent {
            code: StatusCode::CREATED,
            bytes: value.to_string().into(),
            warnings: Vec::new(),
            retry_after: None,
        };
        let said: Vec<_> =
            reviews.iter().map(|(cluster, value)| (ClusterName::new(cluster).unwrap(), sent(value))).collect();
        serde_json::from_str(&merged(&said).unwrap()).unwrap()
    }

    fn access(allowed: bool, reason: &str) -> Value {
        json!({"kind": "SelfSubjectAccessReview", "status": {"allowed": allowed, "reason": reason}})
    }

    #[test]
    fn allowed_is_what_all_allow_and_who_refuses_is_named() {
        let both = merge(&[("east", access(true, "yes")), ("west", access(true, ""))]);
        assert_eq!(both["status"], json!({"allowed": true, "reason": "yes"}));
        let one = merge(&[("east", access(true, "yes")), ("west", access(false, "no rule"))]);
        assert_eq!(one["status"], json!({"allowed": false, "reason": "not allowed in west: no rule"}));
        let none = merge(&[("east", access(false, "no")), ("west", access(false, "never"))]);
        assert_eq!(none["status"], json!({"allowed": false, "reason": "no"}));
    }

    #[test]
    fn of_rules_those_of_all_are_told() {
        let rules = |verbs: &[&str]| {
            let rules: Vec<_> = verbs.iter().map(|verb| json!({"verbs": [verb]})).collect();
            json!({"kind": "SelfSubjectRulesReview", "status": {"resourceRules": rules, "incomplete": false}})
        };
        let merged = merge(&[("east", rules(&["get", "list"])), ("west", rules(&["list", "watch"]))]);
        assert_eq!(merged["status"]["resourceRules"], json!([{"verbs": ["list"]}]));
    }
}
