//! One call of a guest, from a fresh instance to its result, inside the limits.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use orrery_api::extension::{Capability, Limits, Metric};
use tokio::time::timeout;
use wasmtime::component::{Instance, InstancePre, TypedFunc};
use wasmtime::{Store, Trap};

use super::bindings::exports::orrery::plugin::{
    lifecycle, named_selector, placement_filter, placement_score, placement_select, placement_split, virtual_labels,
};
use super::call_log::CallLog;
use super::limiter::MemoryExceeded;
use super::state::{CallState, Pinned};
use super::wit::types::Failure;
use super::wit::{placement_types, selector_types};

/// A linked component: what of our interfaces it exports, and how to call it. Each call has an instance of its own.
#[derive(Clone)]
pub(crate) struct Guest {
    instance: InstancePre<CallState>,
    pub(crate) lifecycle: Option<lifecycle::GuestIndices>,
    pub(crate) filter: Option<placement_filter::GuestIndices>,
    pub(crate) score: Option<placement_score::GuestIndices>,
    pub(crate) select: Option<placement_select::GuestIndices>,
    pub(crate) split: Option<placement_split::GuestIndices>,
    pub(crate) labels: Option<virtual_labels::GuestIndices>,
    pub(crate) selector: Option<named_selector::GuestIndices>,
}

/// In which frame a call runs.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) limits: Limits,
    pub(crate) capabilities: BTreeSet<Capability>,
    pub(crate) pinned: Arc<Pinned>,
    pub(crate) log: Arc<CallLog>,
}

/// Why a call has no result.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum CallError {
    /// The guest said so.
    #[error("{message} ({code})")]
    Said {
        /// Its code.
        code: String,
        /// What it said.
        message: String,
        /// After how long it may be asked again.
        retry_after: Option<Duration>,
    },
    /// It computed too much.
    #[error("it used up its fuel ({0}); make it do less, or raise `limits.fuel`")]
    Fuel(u64),
    /// It took too long.
    #[error("it took longer than {} ms; raise `limits.deadlineMs` if that is to be", .0.as_millis())]
    Deadline(Duration),
    /// It asked for too much memory.
    #[error("it asked for more than {0} bytes of memory; raise `limits.memory` if that is to be")]
    Memory(u64),
    /// It ended on its own.
    #[error("it broke off: {0}")]
    Trap(String),
    /// It does not export what was asked.
    #[error("it does not export {0}")]
    Unasked(&'static str),
    /// What it said cannot be used.
    #[error("what it said cannot be used: {0}")]
    Result(String),
    /// Too many calls wait for it.
    #[error("too many calls wait for it")]
    Busy,
    /// Its first generation is on its way.
    #[error("it is being loaded")]
    Loading,
    /// It failed several times just now.
    #[error("it failed several times in a row and is not asked for a moment")]
    Paused,
    /// No generation of it can serve.
    #[error("no generation of it serves: {0}")]
    Refused(String),
    /// Its generation ended while it was asked.
    #[error("its generation has ended")]
    Drained,
}

/// What the evaluator exports beside the interfaces of plugins.
const EXPLAIN: &str = "orrery:cel/explain@0.1.0";

struct Session {
    store: Store<CallState>,
    instance: Instance,
}

/// Asks the export that the guest has under a name, in an instance of its own.
macro_rules! asked {
    ($guest:ident.$export:ident as $name:literal, $caller:ident, $call:ident($request:ident)) => {{
        let export = $guest.$export.as_ref().ok_or(CallError::Unasked($name))?;
        let call = async {
            let mut session = $guest.open($caller).await?;
            let guest = export.load(&mut session.store, &session.instance)?;
            guest.$call(&mut session.store, $request).await
        };
        $caller.bounded(call).await
    }};
}

type Called<T> = wasmtime::Result<Result<T, Failure>>;

// === impl Guest ===

impl Guest {
    pub(crate) fn of(instance: InstancePre<CallState>) -> Self {
        Self {
            lifecycle: lifecycle::GuestIndices::new(&instance).ok(),
            filter: placement_filter::GuestIndices::new(&instance).ok(),
            score: placement_score::GuestIndices::new(&instance).ok(),
            select: placement_select::GuestIndices::new(&instance).ok(),
            split: placement_split::GuestIndices::new(&instance).ok(),
            labels: virtual_labels::GuestIndices::new(&instance).ok(),
            selector: named_selector::GuestIndices::new(&instance).ok(),
            instance,
        }
    }

    /// Names of the interfaces that it exports.
    pub(crate) fn exports(&self) -> Vec<&'static str> {
        let all = [
            (self.lifecycle.is_some(), "lifecycle"),
            (self.filter.is_some(), "placement-filter"),
            (self.score.is_some(), "placement-score"),
            (self.select.is_some(), "placement-select"),
            (self.split.is_some(), "placement-split"),
            (self.labels.is_some(), "virtual-labels"),
            (self.selector.is_some(), "named-selector"),
        ];
        all.into_iter().filter_map(|(is_there, name)| is_there.then_some(name)).collect()
    }

    pub(crate) async fn check_params(&self, caller: &Caller, params: &String) -> Result<(), CallError> {
        asked!(self.lifecycle as "lifecycle", caller, call_check_params(params))
    }

    pub(crate) async fn filter(
        &self,
        caller: &Caller,
        request: &placement_types::Request,
    ) -> Result<Vec<placement_types::Verdict>, CallError> {
        asked!(self.filter as "placement-filter", caller, call_filter(request))
    }

    pub(crate) async fn score(
        &self,
        caller: &Caller,
        request: &placement_types::Request,
    ) -> Result<Vec<i64>, CallError> {
        asked!(self.score as "placement-score", caller, call_score(request))
    }

    pub(crate) async fn select(
        &self,
        caller: &Caller,
        request: &placement_types::RankedRequest,
    ) -> Result<Vec<u32>, CallError> {
        asked!(self.select as "placement-select", caller, call_select(request))
    }

    pub(crate) async fn split(
        &self,
        caller: &Caller,
        request: &placement_types::RankedRequest,
    ) -> Result<Vec<u32>, CallError> {
        asked!(self.split as "placement-split", caller, call_split(request))
    }

    pub(crate) async fn labels(
        &self,
        caller: &Caller,
        batch: &selector_types::Batch,
    ) -> Result<Vec<Vec<(String, String)>>, CallError> {
        asked!(self.labels as "virtual-labels", caller, call_labels(batch))
    }

    pub(crate) async fn prepare(
        &self,
        caller: &Caller,
        request: &selector_types::PlanRequest,
    ) -> Result<selector_types::Plan, CallError> {
        asked!(self.selector as "named-selector", caller, call_prepare(request))
    }

    pub(crate) async fn matches(
        &self,
        caller: &Caller,
        request: &selector_types::MatchRequest,
    ) -> Result<Vec<bool>, CallError> {
        asked!(self.selector as "named-selector", caller, call_matches(request))
    }

    /// Asks the evaluator of rules what each part of one gives: JSON in, JSON out, as `plugins/cel` describes them.
    pub(crate) async fn explain(&self, caller: &Caller, request: &str) -> Result<String, CallError> {
        let call = async {
            let mut session = self.open(caller).await?;
            let no_export = || wasmtime::Error::msg("it does not export orrery:cel/explain");
            let interface =
                session.instance.get_export_index(&mut session.store, None, EXPLAIN).ok_or_else(no_export)?;
            let explain = session.instance.get_export_index(&mut session.store, Some(&interface), "explain");
            let explain = explain.ok_or_else(no_export)?;
            let explain: TypedFunc<(&str,), (Result<String, Failure>,)> =
                session.instance.get_typed_func(&mut session.store, explain)?;
            Ok(explain.call_async(&mut session.store, (request,)).await?.0)
        };
        caller.bounded(call).await
    }

    /// An instance in a store that has its limits already, because a start function is the guest's code too.
    async fn open(&self, caller: &Caller) -> wasmtime::Result<Session> {
        let state =
            CallState::new(&caller.limits, caller.log.clone(), caller.pinned.clone(), caller.capabilities.clone());
        let mut store = Store::new(self.instance.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_fuel(caller.limits.fuel)?;
        store.set_hostcall_fuel(usize::try_from(caller.limits.result_bytes).unwrap_or(usize::MAX));
        store.epoch_deadline_async_yield_and_update(1);
        let instance = self.instance.instantiate_async(&mut store).await?;
        Ok(Session { store, instance })
    }
}

// === impl Caller ===

impl Caller {
    pub(crate) fn new(limits: Limits, capabilities: BTreeSet<Capability>, metrics: &[Metric]) -> Self {
        Self { limits, capabilities, pinned: Arc::default(), log: CallLog::new(&limits, metrics) }
    }

    async fn bounded<T>(&self, call: impl Future<Output = Called<T>>) -> Result<T, CallError> {
        match timeout(self.limits.deadline, call).await {
            Err(_) => Err(CallError::Deadline(self.limits.deadline)),
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(failure))) => Err(said(failure)),
            Ok(Err(error)) => Err(self.broken(&error)),
        }
    }

    fn broken(&self, error: &wasmtime::Error) -> CallError {
        if error.downcast_ref::<MemoryExceeded>().is_some() {
            return CallError::Memory(self.limits.memory_bytes);
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => CallError::Fuel(self.limits.fuel),
            _ => CallError::Trap(format!("{error:#}").replace('\n', " ")),
        }
    }
}

// === impl CallError ===

impl CallError {
    /// How a call ended, as a metric's label.
    pub(crate) fn outcome(&self) -> &'static str {
        match self {
            Self::Said { .. } => "failure",
            Self::Fuel(_) => "fuel",
            Self::Deadline(_) => "deadline",
            Self::Memory(_) => "memory",
            Self::Trap(_) => "trap",
            Self::Unasked(_) => "unasked",
            Self::Result(_) => "result",
            Self::Busy => "busy",
            Self::Loading => "loading",
            Self::Paused => "paused",
            Self::Refused(_) => "refused",
            Self::Drained => "drained",
        }
    }

    /// Whether the guest itself is at fault, and not what it was asked.
    pub(crate) fn is_fault(&self) -> bool {
        matches!(self, Self::Fuel(_) | Self::Deadline(_) | Self::Memory(_) | Self::Trap(_) | Self::Result(_))
    }
}

fn said(Failure { code, message, retry_after_ms }: Failure) -> CallError {
    CallError::Said { code, message, retry_after: retry_after_ms.map(|ms| Duration::from_millis(ms.into())) }
}
