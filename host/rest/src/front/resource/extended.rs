//! Selectors that extensions answer: `labels.orrery.dev/KEY` and `selectors.orrery.dev/NAME=ARG` in a label selector.

use std::sync::Arc;

use async_trait::async_trait;
use orrery_api::Gvr;
use orrery_api::extension::{Selectable, SelectorFilter};
use orrery_api::placement::StageFailure;
use orrery_cache::{LabelSelector, Selection};
use orrery_extensions::{Asker, Registry, Requires};

use crate::front::Service;
use crate::request::RequestInfo;
use crate::status::Status;

/// Before the key of a label that extensions give.
const LABELS: &str = "labels.orrery.dev/";

/// Before the name of a selector.
const SELECTORS: &str = "selectors.orrery.dev/";

/// Selects what all of several select.
#[derive(Debug)]
struct All(Vec<Arc<dyn SelectorFilter>>);

// === impl Service ===

impl Service {
    /// Puts what the label selector of `selection` requires of extensions into its filter; 400 where nobody answers that.
    pub(super) async fn extended(
        &self,
        info: &RequestInfo,
        gvr: &Gvr,
        mut selection: Selection,
    ) -> Result<Selection, Status> {
        let (labels, others) = selection.labels.split_by(LABELS);
        let (selectors, plain) = others.split_by(SELECTORS);
        if labels.is_everything() && selectors.is_everything() {
            return Ok(selection);
        }
        let none = || {
            let hint =
                "extensions give such labels and selectors, and this host has none: start it with --extensions DIR";
            Status::bad_request(hint)
        };
        let registry = self.front.policies.registry().ok_or_else(none)?;
        let mut filters = Vec::new();
        if !labels.is_everything() {
            filters.push(by_labels(registry, gvr, labels).await?);
        }
        for (key, value) in selectors.equalities() {
            let name = key.strip_prefix(SELECTORS).unwrap_or(key);
            let Some(arg) = value else {
                return Err(Status::bad_request(format!("a named selector is written as {SELECTORS}{name}=ARG")));
            };
            filters.push(by_name(registry, gvr, (name, arg), asker(info)).await?);
        }
        selection.labels = plain;
        selection.extended = Some(if filters.len() == 1 { filters.remove(0) } else { Arc::new(All(filters)) });
        Ok(selection)
    }
}

/// 400 where extensions would have to answer and are not asked: a member would take their keys for labels that no object has,
/// and what is required of them to be missing would select everything.
pub(in crate::front) fn refuse_extended(labels: &LabelSelector) -> Result<(), Status> {
    let asked = labels.equalities().find(|(key, _)| key.starts_with(LABELS) || key.starts_with(SELECTORS));
    match asked {
        None => Ok(()),
        Some((key, _)) => Err(Status::bad_request(format!(
            "{key} is what extensions say, and this request goes to the members: list what it selects, and name that"
        ))),
    }
}

async fn by_labels(registry: &Registry, gvr: &Gvr, labels: LabelSelector) -> Result<Arc<dyn SelectorFilter>, Status> {
    // Extensions name the label by what follows the prefix.
    let requires: Requires = Arc::new(move |label| labels.holds(&|key| label(key.strip_prefix(LABELS).unwrap_or(key))));
    let filter = registry.by_labels(gvr, requires).await.map_err(|failure| cannot_say(&failure))?;
    filter.ok_or_else(|| Status::bad_request(format!("no extension gives labels to {}", gvr.group_resource())))
}

async fn by_name(
    registry: &Registry,
    gvr: &Gvr,
    (name, arg): (&str, &str),
    asker: Asker,
) -> Result<Arc<dyn SelectorFilter>, Status> {
    let parse = |text: &str| -> Result<Requires, String> {
        let labels = LabelSelector::parse(text).map_err(|error| error.to_string())?;
        Ok(Arc::new(move |label: &dyn Fn(&str) -> Option<String>| labels.holds(label)))
    };
    let filter = registry.by_name(gvr, (name, arg), asker, parse).await.map_err(|failure| cannot_say(&failure))?;
    filter
        .ok_or_else(|| Status::bad_request(format!("no extension is a selector {name:?} of {}", gvr.group_resource())))
}

fn asker(info: &RequestInfo) -> Asker {
    info.identity
        .as_ref()
        .map_or_else(Asker::default, |identity| Asker { user: identity.user.clone(), groups: identity.groups.clone() })
}

/// An extension that cannot say fails the request: to leave it out would select too much.
fn cannot_say(failure: &StageFailure) -> Status {
    match failure.retry_after {
        Some(after) => Status::unavailable(failure.to_string(), u32::try_from(after.as_secs()).unwrap_or(1).max(1)),
        None => Status::bad_request(failure.to_string()),
    }
}

// === impl All ===

#[async_trait]
impl SelectorFilter for All {
    async fn select(&self, objects: &[&dyn Selectable]) -> Result<Vec<bool>, StageFailure> {
        let mut selected = vec![true; objects.len()];
        for filter in &self.0 {
            let verdicts = filter.select(objects).await?;
            if verdicts.len() != selected.len() {
                return Err(StageFailure::new("it did not answer on each object"));
            }
            selected.iter_mut().zip(verdicts).for_each(|(selected, verdict)| *selected &= verdict);
        }
        Ok(selected)
    }

    async fn outdated(&self) {
        futures::future::select_all(self.0.iter().map(|filter| filter.outdated())).await;
    }

    fn generation(&self) -> u64 {
        self.0.iter().fold(0, |all, filter| all.rotate_left(7) ^ filter.generation())
    }
}
