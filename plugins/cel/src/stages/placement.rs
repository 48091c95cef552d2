//! Filter, score, select and split.

use std::collections::{BTreeMap, BTreeSet};

use cel::common::types::{CelDouble, CelInt, CelNull, CelString, CelUInt};
use cel::common::value::Val;

use super::{Errors, Settings, failure, now};
use crate::bindings::orrery::plugin::placement_types::{Candidate, RankedRequest, Request, Verdict};
use crate::bindings::orrery::plugin::types::{Failure, Reason};
use crate::data::{Node, read, read_some};
use crate::library::Spread;
use crate::policy::{FailurePolicy, Policy, Rule, Stage};
use crate::render;
use crate::scope::{Batch, Binding, Scope};

/// The reason of a cluster on which an expression has an error.
const ERROR_REASON: &str = "PolicyError";

/// A request, read.
pub(crate) struct Placement {
    pub(crate) batch: Batch,
    /// The documents of the candidates, in their order, with their names.
    pub(crate) clusters: Vec<Node>,
}

/// A verdict on each candidate.
pub(crate) fn filter(request: &Request) -> Result<Vec<Verdict>, Failure> {
    let placement = Placement::read(request, Stage::Filter, None)?;
    Ok(placement.clusters.iter().map(|cluster| placement.verdict(cluster)).collect())
}

/// A raw score of each candidate.
pub(crate) fn score(request: &Request) -> Result<Vec<i64>, Failure> {
    let placement = Placement::read(request, Stage::Score, None)?;
    let mut errors = Errors::default();
    let mut scores = Vec::new();
    for cluster in &placement.clusters {
        let scored = placement.score(cluster);
        let scored = scored.map_err(|error| errors.add(&request.call, &format!("cluster {}: {error}", name(cluster))));
        scores.push(scored.ok());
    }
    let lowest = scores.iter().flatten().min().copied().unwrap_or_default();
    Ok(scores.into_iter().map(|score| score.unwrap_or(lowest)).collect())
}

/// The places of the chosen candidates.
pub(crate) fn select(request: &RankedRequest) -> Result<Vec<u32>, Failure> {
    let placement = Placement::read(&request.base, Stage::Select, Some(&request.scores))?;
    let all = || (0..placement.clusters.len() as u32).collect();
    match placement.decision()? {
        Some(chosen) => placement.places(chosen.as_ref()),
        None => Ok(all()),
    }
}

/// Replicas of each candidate.
pub(crate) fn split(request: &RankedRequest) -> Result<Vec<u32>, Failure> {
    let placement = Placement::read(&request.base, Stage::Split, Some(&request.scores))?;
    match placement.decision()? {
        Some(shares) => placement.shares(shares.as_ref(), request.base.replicas),
        None => Ok(evenly(request.base.replicas.unwrap_or_default(), placement.clusters.len())),
    }
}

/// The same number for each, the first ones one more where it does not come out even.
fn evenly(replicas: u32, clusters: usize) -> Vec<u32> {
    let count = (clusters as u32).max(1);
    (0..clusters as u32).map(|at| replicas / count + u32::from(at < replicas % count)).collect()
}

fn name(cluster: &Node) -> &str {
    cluster.field("name").and_then(Node::as_text).unwrap_or_default()
}

/// The candidate's document with its name in it, which the manifest's inputs may have left out.
fn document(candidate: &Candidate, wanted: Option<&BTreeSet<String>>) -> Result<Node, Failure> {
    let what = format!("the document of cluster {}", candidate.name);
    let document = match wanted {
        Some(wanted) => read_some(&what, &candidate.doc, wanted),
        None => read(&what, &candidate.doc),
    };
    let document = document.map_err(|error| failure("InvalidRequest", error))?;
    let Some(fields) = document.as_map() else { return Err(failure("InvalidRequest", format!("{what} is no object"))) };
    if name(&document) == candidate.name {
        return Ok(document);
    }
    let fields = fields.fields().map(|(name, value)| (name.to_owned(), value.clone()));
    Ok(Node::map(fields.chain([("name".to_owned(), Node::text(&candidate.name))])))
}

// === impl Placement ===

impl Placement {
    pub(crate) fn read(request: &Request, stage: Stage, scores: Option<&[i64]>) -> Result<Self, Failure> {
        let settings = Settings::of(&request.call, stage)?;
        Self::with(settings, request, scores)
    }

    pub(crate) fn with(settings: Settings, request: &Request, scores: Option<&[i64]>) -> Result<Self, Failure> {
        let wanted = settings.policy.cluster_fields.as_ref();
        let clusters = request.candidates.iter().map(|candidate| document(candidate, wanted));
        let clusters = clusters.collect::<Result<Vec<_>, _>>()?;
        let unit = read("the unit", &request.unit).map_err(|error| failure("InvalidRequest", error))?;
        let mut shared: Vec<Binding> = vec![
            ("unit", unit.boxed()),
            ("params", settings.params.boxed()),
            ("now", now(&request.call)),
            ("current", current(request).boxed()),
        ];
        let placed = request.current.iter().map(|current| (current.cluster.clone(), i64::from(current.replicas)));
        shared.push(("@spread", Box::new(Spread::new(clusters.clone(), placed))));
        if let Some(scores) = scores {
            shared.push(("clusters", Node::list(clusters.clone()).boxed()));
            let scores =
                clusters.iter().zip(scores).map(|(cluster, score)| (name(cluster).to_owned(), Node::int(*score)));
            shared.push(("scores", Node::map(scores).boxed()));
        }
        Ok(Self { batch: Batch::new(settings.policy, shared), clusters })
    }

    fn policy(&self) -> &Policy {
        &self.batch.policy
    }

    pub(crate) fn scope(&self, cluster: &Node) -> Scope {
        self.batch.scope(vec![("cluster", cluster.boxed())])
    }

    fn verdict(&self, cluster: &Node) -> Verdict {
        let scope = self.scope(cluster);
        let kept = Verdict { keep: true, reason: None };
        let error = |message: String| match self.policy().failure {
            FailurePolicy::Skip => None,
            FailurePolicy::Reject => Some(out(ERROR_REASON, format!("cluster {}: {message}", name(cluster)))),
        };
        match scope.matches() {
            Ok(true) => {}
            Ok(false) => return kept,
            Err(message) => return error(message).unwrap_or(kept),
        }
        for rule in &self.policy().expressions {
            match scope.test(&rule.main) {
                Ok(true) => {}
                Ok(false) => return out(&rule.reason, message(&scope, rule)),
                Err(message) => {
                    if let Some(out) = error(format!("expression {}: {message}", rule.main.name)) {
                        return out;
                    }
                }
            }
        }
        kept
    }

    /// The sum of what the expressions give.
    fn score(&self, cluster: &Node) -> Result<i64, String> {
        let scope = self.scope(cluster);
        let rejects = self.policy().failure == FailurePolicy::Reject;
        match scope.matches() {
            Ok(true) => {}
            Err(error) if rejects => return Err(error),
            _ => return Ok(0),
        }
        let (mut whole, mut rest) = (0_i64, 0.0);
        for rule in &self.policy().expressions {
            let value = scope.evaluate(&rule.main).and_then(|value| Number::of(value.as_ref()));
            match value {
                Ok(Number::Int(value)) => whole = whole.saturating_add(value),
                Ok(Number::Double(value)) => rest += value,
                Err(error) if rejects => return Err(format!("expression {}: {error}", rule.main.name)),
                Err(_) => {}
            }
        }
        // Beyond its range a double becomes the largest or smallest int.
        Ok(whole.saturating_add(f64::round(rest) as i64))
    }

    /// What the one expression of select or split gives; none where the policy does not decide.
    fn decision(&self) -> Result<Option<Box<dyn Val>>, Failure> {
        let scope = self.batch.scope(Vec::new());
        let Some(rule) = self.policy().expressions.first() else { return Ok(None) };
        let decided = match scope.matches() {
            Ok(true) => scope.evaluate(&rule.main).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        match (decided, self.policy().failure) {
            (Ok(decided), _) => Ok(decided),
            (Err(_), FailurePolicy::Skip) => Ok(None),
            (Err(error), FailurePolicy::Reject) => {
                Err(failure(ERROR_REASON, format!("expression {}: {error}", rule.main.name)))
            }
        }
    }

    fn places(&self, chosen: &(dyn Val + 'static)) -> Result<Vec<u32>, Failure> {
        let invalid = |message: String| failure("InvalidResult", message);
        let places: BTreeMap<&str, u32> =
            self.clusters.iter().enumerate().map(|(at, cluster)| (name(cluster), at as u32)).collect();
        let mut chosen_places = Vec::new();
        for chosen in elements(chosen)
            .ok_or_else(|| invalid(format!("it gives {}, not a list of names", render::short(chosen))))?
        {
            let chosen_name = chosen.downcast_ref::<CelString<'_>>().map(CelString::inner).unwrap_or_default();
            let place = places.get(chosen_name);
            let place = place
                .ok_or_else(|| invalid(format!("{} is the name of no candidate", render::short(chosen.as_ref()))))?;
            if chosen_places.contains(place) {
                return Err(invalid(format!("cluster {chosen_name} is selected twice")));
            }
            chosen_places.push(*place);
        }
        Ok(chosen_places)
    }

    fn shares(&self, shares: &(dyn Val + 'static), replicas: Option<u32>) -> Result<Vec<u32>, Failure> {
        let invalid = |message: String| failure("InvalidResult", message);
        let split = match shares.as_indexer().filter(|_| shares.get_type() == &cel::common::types::MAP_TYPE) {
            Some(by_name) => {
                self.check_names(shares).map_err(invalid)?;
                let zero = || Box::new(CelInt::from(0)) as Box<dyn Val>;
                let share = |cluster| {
                    by_name.get(&CelString::from(name(cluster))).map_or_else(|_| zero(), |share| share.into_owned())
                };
                self.clusters.iter().map(share).collect()
            }
            None => elements(shares)
                .ok_or_else(|| invalid(format!("it gives {}, not a map or a list", render::short(shares))))?,
        };
        if split.len() != self.clusters.len() {
            return Err(invalid(format!("it gives {} numbers for {} clusters", split.len(), self.clusters.len())));
        }
        let count = |share: &dyn Val| match Number::of(share) {
            Ok(Number::Int(count)) => {
                u32::try_from(count).map_err(|_| invalid(format!("{count} is no number of replicas")))
            }
            _ => Err(invalid(format!("{} is no number of replicas", render::short(share)))),
        };
        let split = split.iter().map(|share| count(share.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let sum: u64 = split.iter().map(|count| u64::from(*count)).sum();
        match replicas {
            Some(replicas) if sum != u64::from(replicas) => {
                Err(invalid(format!("it gives {sum} replicas in all, where {replicas} are to be placed")))
            }
            _ => Ok(split),
        }
    }

    /// An error if a key of `shares` is no candidate.
    fn check_names(&self, shares: &dyn Val) -> Result<(), String> {
        let unknown = elements(shares).unwrap_or_default().into_iter().map(|key| render::key(key.as_ref()));
        let mut unknown = unknown.filter(|key| !self.clusters.iter().any(|cluster| name(cluster) == key));
        unknown.next().map_or(Ok(()), |key| Err(format!("{key} is the name of no candidate")))
    }
}

fn current(request: &Request) -> Node {
    let entries = request.current.iter().map(|current| {
        Node::map([
            ("cluster".to_owned(), Node::text(&current.cluster)),
            ("replicas".to_owned(), Node::int(i64::from(current.replicas))),
        ])
    });
    Node::list(entries.collect())
}

fn out(code: &str, message: String) -> Verdict {
    Verdict { keep: false, reason: Some(Reason { code: code.to_owned(), message }) }
}

/// Why the rule drops the cluster: what its `messageExpression` gives, if that is a text of one line or more, else its
/// `message`, else how the expression is written. As in a ValidatingAdmissionPolicy.
fn message(scope: &Scope, rule: &Rule) -> String {
    let evaluated = rule.message_expression.as_ref().and_then(|expression| scope.evaluate(expression).ok());
    let evaluated =
        evaluated.and_then(|value| value.downcast_ref::<CelString<'_>>().map(|text| text.inner().trim().to_owned()));
    evaluated.filter(|text| !text.is_empty()).or_else(|| rule.message.clone()).unwrap_or_else(|| {
        let source = &rule.main.parsed.source;
        format!("{} is false", source.written(rule.main.parsed.expression.id).trim())
    })
}

/// The elements of a list, or keys of a map.
pub(super) fn elements<'v>(value: &(dyn Val + 'v)) -> Option<Vec<Box<dyn Val + 'v>>> {
    let (mut visited, mut elements) = (value.as_iterable()?.iter(), Vec::new());
    while let Some(element) = visited.next() {
        elements.push(element.clone_as_boxed());
    }
    Some(elements)
}

/// A number that can be added up.
enum Number {
    Int(i64),
    Double(f64),
}

// === impl Number ===

impl Number {
    fn of(value: &dyn Val) -> Result<Self, String> {
        if let Some(int) = value.downcast_ref::<CelInt>() {
            return Ok(Self::Int(*int.inner()));
        }
        if let Some(uint) = value.downcast_ref::<CelUInt>() {
            return Ok(Self::Int(i64::try_from(*uint.inner()).unwrap_or(i64::MAX)));
        }
        match value.downcast_ref::<CelDouble>().map(|double| *double.inner()) {
            Some(double) if double.is_finite() => Ok(Self::Double(double)),
            Some(double) => Err(format!("it gives {double}, which is no score")),
            None if value.downcast_ref::<CelNull>().is_some() => Err("it gives null, not a number".to_owned()),
            None => Err(format!("it gives {}, not a number", render::short(value))),
        }
    }
}
