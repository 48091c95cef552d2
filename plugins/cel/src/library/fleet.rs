//! Our own functions: of clusters, labels and units.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cel::ExecutionError;
use cel::common::types::{CelBool, CelDuration, CelInt, CelString, DYN_TYPE, INT_TYPE, MAP_TYPE, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};

use super::{Add, Args, Given, arg, text};
use crate::data::{Map, Node};

static SPREAD: Type = Type::new_unspecified_type("@spread");

/// How many replicas of the unit are where, by label: what `spread` answers from.
#[derive(Clone, Debug)]
pub(crate) struct Spread(Arc<Placed>);

#[derive(Debug)]
struct Placed {
    clusters: Vec<Node>,
    /// Replicas by cluster.
    replicas: BTreeMap<String, i64>,
    /// By label key: replicas by value. Counted once for all clusters.
    counts: Mutex<BTreeMap<String, Arc<BTreeMap<String, i64>>>>,
}

pub(super) fn add(add: &mut Add) {
    add.member("score", MAP_TYPE, vec![STRING_TYPE], |args| {
        let score = score(&args)?;
        let value = score
            .ok_or_else(|| ExecutionError::function_error("score", format!("there is no score {}", shown(&args))))?;
        Ok(CowVal::owned(CelInt::from(value)))
    });
    add.member("score", MAP_TYPE, vec![STRING_TYPE, INT_TYPE], |args| {
        let score = score(&args)?;
        Ok(score.map_or_else(|| args[2].clone(), |value| CowVal::owned(CelInt::from(value))))
    });
    add.member("scoreAge", MAP_TYPE, vec![STRING_TYPE], score_age);
    add.member("has", MAP_TYPE, vec![STRING_TYPE], |args| {
        let map: &dyn Val = args[0].as_ref();
        let has = map.as_container().map_or(Ok(false), |container| container.contains(args[1].as_ref()))?;
        Ok(CowVal::owned(CelBool::from(has)))
    });
    add.member("get", MAP_TYPE, vec![STRING_TYPE, DYN_TYPE], |mut args| {
        let found = args[0].as_indexer().and_then(|fields| fields.get(args[1].as_ref()).ok().map(CowVal::into_owned));
        Ok(found.map_or_else(|| args.remove(2), CowVal::Owned))
    });
    add.member("tolerates", MAP_TYPE, vec![MAP_TYPE], |args| {
        Ok(CowVal::owned(CelBool::from(tolerates(args[0].as_ref(), args[1].as_ref()))))
    });
    add.function("@spread", vec![SPREAD.to_owned(), MAP_TYPE, STRING_TYPE], spread);
}

fn shown(args: &Args<'_, '_>) -> String {
    text(args, 1).unwrap_or_default().to_owned()
}

/// The field of a map whose value is a text; empty otherwise.
fn text_of(map: &dyn Val, name: &str) -> String {
    let fields = map.as_indexer();
    let value = fields.and_then(|fields| fields.get(&CelString::from(name)).ok().map(CowVal::into_owned));
    value
        .and_then(|value| value.downcast_ref::<CelString<'_>>().map(|text| text.inner().to_owned()))
        .unwrap_or_default()
}

/// The entry of a ClusterScore that has not expired. An expired one is as if it were not there.
fn pushed<'a>(args: &'a Args<'_, '_>) -> Result<Option<&'a Map>, ExecutionError> {
    let cluster: &Map = arg(args, 0)?;
    let scores = cluster.field("scores").and_then(|scores| scores.field(text(args, 1).unwrap_or_default()));
    let live = scores
        .and_then(Node::as_map)
        .filter(|score| !matches!(score.field("expired"), Some(Node::Bool(expired)) if *expired.inner()));
    Ok(live)
}

fn score(args: &Args<'_, '_>) -> Result<Option<i64>, ExecutionError> {
    Ok(pushed(args)?.and_then(|score| score.field("value")).and_then(Node::as_int))
}

fn score_age<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let age = pushed(&args)?.and_then(|score| score.field("ageMs")).and_then(Node::as_int);
    let age = age.and_then(chrono::Duration::try_milliseconds);
    let age =
        age.ok_or_else(|| ExecutionError::function_error("scoreAge", format!("there is no score {}", shown(&args))))?;
    Ok(CowVal::owned(CelDuration::from(age)))
}

/// Whether one of the unit's tolerations is for the taint, as Kubernetes has it (`ToleratesTaint` of its core/v1 helpers):
/// an empty effect is for all effects, an empty key with `Exists` for all keys, and an empty operator is `Equal`.
fn tolerates(unit: &dyn Val, taint: &dyn Val) -> bool {
    let Some(unit) = unit.downcast_ref::<Map>() else { return false };
    let tolerations = unit.field("tolerations").and_then(Node::as_list).unwrap_or_default();
    let (key, value, effect) = (text_of(taint, "key"), text_of(taint, "value"), text_of(taint, "effect"));
    tolerations.iter().any(|toleration| {
        let field = |name| toleration.field(name).and_then(Node::as_text).unwrap_or_default();
        let is_for_all = field("key").is_empty() && field("operator") == "Exists";
        let for_effect = field("effect").is_empty() || field("effect") == effect;
        let for_value = match field("operator") {
            "Exists" => true,
            "" | "Equal" => field("value") == value,
            _ => false,
        };
        for_effect && for_value && (is_for_all || field("key") == key)
    })
}

fn spread<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let placed: &Spread = arg(&args, 0)?;
    let key = text(&args, 2)?;
    let counts = placed.counts(key);
    let cluster: &Map = arg(&args, 1)?;
    let value = cluster.field("labels").and_then(|labels| labels.field(key)).and_then(Node::as_text);
    let count = value.and_then(|value| counts.get(value)).copied().unwrap_or_default();
    Ok(CowVal::owned(CelInt::from(count)))
}

// === impl Spread ===

impl Spread {
    /// `clusters` are the candidates, `current` pairs of a cluster and its replicas of the unit.
    pub(crate) fn new(clusters: Vec<Node>, current: impl IntoIterator<Item = (String, i64)>) -> Self {
        let replicas = current.into_iter().collect();
        Self(Arc::new(Placed { clusters, replicas, counts: Mutex::default() }))
    }

    fn counts(&self, key: &str) -> Arc<BTreeMap<String, i64>> {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(key.to_owned()).or_insert_with(|| Arc::new(self.0.count(key))).clone()
    }
}

impl Placed {
    fn count(&self, key: &str) -> BTreeMap<String, i64> {
        let mut counts = BTreeMap::new();
        for cluster in &self.clusters {
            let value = cluster.field("labels").and_then(|labels| labels.field(key)).and_then(Node::as_text);
            let name = cluster.field("name").and_then(Node::as_text).unwrap_or_default();
            if let (Some(value), Some(replicas)) = (value, self.replicas.get(name)) {
                let count: &mut i64 = counts.entry(value.to_owned()).or_default();
                *count = count.saturating_add(*replicas);
            }
        }
        counts
    }
}

impl Val for Spread {
    fn get_type(&self) -> &Type {
        &SPREAD
    }

    fn cel_type() -> &'static Type {
        &SPREAD
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Spread {}
