//! Which objects extensions select: virtual labels and named selectors, remembered for each state of an object.

mod memo;

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::select_all;
use orrery_api::Gvr;
use orrery_api::extension::{ExtensionName, Selectable, SelectorFilter};
use orrery_api::placement::StageFailure;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::Registry;
use crate::generation::Generation;
use crate::inputs;
use crate::runtime::wit::selector_types::{Batch, MatchRequest, Plan, PlanRequest};
use crate::slot::Slot;
pub(crate) use memo::{Labels, Memo};

/// What is required of the labels that extensions give, in the grammar of label selectors: the caller's, as it knows it.
pub type Requires = Arc<dyn Fn(&dyn Fn(&str) -> Option<String>) -> bool + Send + Sync>;

/// Who asks for a named selector.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    /// The user.
    pub user: String,
    /// Their groups.
    pub groups: Vec<String>,
}

/// Selects by virtual labels: those that all extensions together give an object.
struct ByLabels {
    /// Says that there are other extensions than before.
    known: watch::Receiver<()>,
    asked: Vec<Pinned>,
    gvr: String,
    requires: Requires,
}

/// Selects by a named selector.
struct ByName {
    asked: Pinned,
    gvr: String,
    plan: Plan,
    /// What the plan's own label selector requires.
    requires: Requires,
    memo: Arc<Memo<bool>>,
}

/// A generation that answers for one request, and how it is noticed that another one serves.
struct Pinned {
    slot: Arc<Slot>,
    generation: Arc<Generation>,
    labels: Arc<Memo<Labels>>,
    /// When it ends for this request, once another one serves.
    ends: std::sync::OnceLock<Instant>,
    /// A number of this request, which tells it from others.
    lot: u64,
}

/// Requests that have to list anew begin to within so long, so that not all do at once: a tenth in each second.
const SPREAD: Duration = Duration::from_secs(10);

// === impl Registry ===

impl Registry {
    /// A filter by the virtual labels of objects of `gvr`, of which `requires` is required; `None` where no extension
    /// gives the objects of `gvr` labels.
    ///
    /// # Errors
    /// One that may give labels cannot be asked.
    pub async fn by_labels(
        &self,
        gvr: &Gvr,
        requires: Requires,
    ) -> Result<Option<Arc<dyn SelectorFilter>>, StageFailure> {
        let known = self.known();
        let mut asked = Vec::new();
        for slot in self.slots_of_selectors() {
            let generation = slot.serving().await.map_err(|error| failure(slot.name(), &error))?;
            if generation.gives_labels(gvr) {
                asked.push(Pinned::new(slot, generation));
            }
        }
        Ok((!asked.is_empty()).then(|| Arc::new(ByLabels { known, asked, gvr: of_wit(gvr), requires }) as Arc<_>))
    }

    /// A filter by the selector `name` with the argument `arg`; `None` where there is no such one.
    ///
    /// # Errors
    /// It cannot be asked, or does not take the argument.
    pub async fn by_name(
        &self,
        gvr: &Gvr,
        (name, arg): (&str, &str),
        asker: Asker,
        parse: impl Fn(&str) -> Result<Requires, String>,
    ) -> Result<Option<Arc<dyn SelectorFilter>>, StageFailure> {
        for slot in self.slots_of_selectors() {
            let generation = slot.serving().await.map_err(|error| failure(slot.name(), &error))?;
            if !generation.answers_selector(name, gvr) {
                continue;
            }
            let request = PlanRequest {
                call: generation.call(0, arg),
                gvr: of_wit(gvr),
                name: name.to_owned(),
                args: inputs::args(arg).to_string(),
                user: asker.user,
                groups: asker.groups,
            };
            let caller = generation.caller();
            let place = slot.place().await.map_err(|error| failure(slot.name(), &error))?;
            let plan = generation.guest().prepare(&caller, &request).await;
            drop(place);
            slot.note(generation.number, &caller, plan.as_ref().err());
            let plan = plan.map_err(|error| failure(slot.name(), &error))?;
            if !plan.field_selector.is_empty() {
                return Err(StageFailure::new(format!("{} narrows by fields, which is not done here", slot.name())));
            }
            let requires = parse(&plan.label_selector)
                .map_err(|error| StageFailure::new(format!("{} narrows by {error}", slot.name())))?;
            let asked = Pinned::new(slot, generation);
            return Ok(Some(Arc::new(ByName { asked, gvr: of_wit(gvr), plan, requires, memo: Arc::default() })));
        }
        Ok(None)
    }
}

// === impl Pinned ===

impl Pinned {
    fn new(slot: Arc<Slot>, generation: Arc<Generation>) -> Self {
        static LOTS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let lot = LOTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let labels = slot.memo(generation.number);
        Self { slot, generation, labels, ends: std::sync::OnceLock::new(), lot }
    }

    fn batch(&self, gvr: &str, objects: Vec<String>) -> Batch {
        Batch { call: self.generation.call(0, gvr), gvr: gvr.to_owned(), objects }
    }

    /// What is told of the objects at `places`.
    fn told(&self, objects: &[&dyn Selectable], places: &[usize]) -> Result<Vec<String>, StageFailure> {
        let told = |at: &usize| Ok(self.generation.object_paths().of_document(&json_of(objects[*at])?).to_string());
        places.iter().map(told).collect()
    }

    /// The labels of each of `objects`.
    async fn labels(&self, gvr: &str, objects: &[&dyn Selectable]) -> Result<Vec<Arc<Labels>>, StageFailure> {
        let mut said = self.labels.of(objects);
        while let Some(places) = said.unknown() {
            let batch = self.batch(gvr, self.told(objects, &places)?);
            let caller = self.generation.caller();
            let _place = self.slot.place().await.map_err(|error| failure(self.slot.name(), &error))?;
            let labels = self.generation.guest().labels(&caller, &batch).await;
            self.slot.note(self.generation.number, &caller, labels.as_ref().err());
            let labels = labels.map_err(|error| failure(self.slot.name(), &error))?;
            self.labels.keep(&mut said, objects, &places, labels)?;
        }
        Ok(said.all())
    }

    /// Waits until another generation serves, and then its turn.
    async fn outdated(&self) {
        self.slot.replaced(self.generation.number).await;
        // Of several that end at one time each tenth goes in another second.
        let share = SPREAD.mul_f64(f64::from(u32::try_from(self.lot % 100).unwrap_or(0)) / 100.0);
        sleep_until(*self.ends.get_or_init(|| Instant::now() + share)).await;
    }
}

// === impl ByLabels ===

#[async_trait]
impl SelectorFilter for ByLabels {
    async fn select(&self, objects: &[&dyn Selectable]) -> Result<Vec<bool>, StageFailure> {
        let mut given = Vec::with_capacity(self.asked.len());
        for asked in &self.asked {
            given.push(asked.labels(&self.gvr, objects).await?);
        }
        let is_selected = |at: usize| {
            let label = |key: &str| {
                let mut labels = given.iter().flat_map(|given| given[at].iter());
                labels.find(|(name, _)| name == key).map(|(_, value)| value.clone())
            };
            (self.requires)(&label)
        };
        Ok((0..objects.len()).map(is_selected).collect())
    }

    async fn outdated(&self) {
        let mut known = self.known.clone();
        let replaced = select_all(self.asked.iter().map(|asked| Box::pin(asked.outdated())));
        tokio::select! {
            _ = replaced => {}
            _ = known.changed() => {}
        }
    }

    fn generation(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.asked.iter().for_each(|asked| asked.generation.id.hash(&mut hasher));
        hasher.finish()
    }
}

impl fmt::Debug for ByLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.asked.iter().map(|asked| asked.slot.name())).finish()
    }
}

// === impl ByName ===

#[async_trait]
impl SelectorFilter for ByName {
    async fn select(&self, objects: &[&dyn Selectable]) -> Result<Vec<bool>, StageFailure> {
        let asked = &self.asked;
        let mut said = self.memo.of(objects);
        while let Some(places) = said.unknown() {
            let base = asked.batch(&self.gvr, asked.told(objects, &places)?);
            let request = MatchRequest { base, plan: self.plan.state.clone() };
            let caller = asked.generation.caller();
            let _place = asked.slot.place().await.map_err(|error| failure(asked.slot.name(), &error))?;
            let matches = asked.generation.guest().matches(&caller, &request).await;
            asked.slot.note(asked.generation.number, &caller, matches.as_ref().err());
            let matches = matches.map_err(|error| failure(asked.slot.name(), &error))?;
            self.memo.keep(&mut said, objects, &places, matches)?;
        }
        let matches = said.all();
        let narrowed = |object: &dyn Selectable| -> Result<bool, StageFailure> {
            let json = json_of(object)?;
            let metadata = &json["metadata"];
            let label = |key: &str| metadata["labels"][key].as_str().map(str::to_owned);
            let namespace = metadata["namespace"].as_str().unwrap_or_default();
            let is_in = self.plan.namespaces.as_ref().is_none_or(|all| all.iter().any(|one| one == namespace));
            Ok(is_in && (self.requires)(&label))
        };
        let is_narrow = self.plan.namespaces.is_some() || !self.plan.label_selector.is_empty();
        objects
            .iter()
            .zip(matches)
            .map(|(object, matches)| Ok(*matches && (!is_narrow || narrowed(*object)?)))
            .collect()
    }

    async fn outdated(&self) {
        self.asked.outdated().await;
    }

    fn generation(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.asked.generation.id, &self.plan.state).hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for ByName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asked.slot.name().fmt(f)
    }
}

fn failure(name: &ExtensionName, error: &dyn fmt::Display) -> StageFailure {
    StageFailure { message: format!("{name}: {error}"), retry_after: Some(Duration::from_secs(1)) }
}

/// `GROUP/VERSION/RESOURCE`, as the WIT has it.
fn of_wit(gvr: &Gvr) -> String {
    format!("{}/{}/{}", gvr.group, gvr.version, gvr.resource)
}

fn json_of(object: &dyn Selectable) -> Result<Value, StageFailure> {
    serde_json::from_slice(&object.json()).map_err(|error| StageFailure::new(error.to_string()))
}
