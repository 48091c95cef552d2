//! The way of a revision to a generation that may serve. Each step that fails leaves what serves as it is.

use std::fmt;
use std::path::Path;

use orrery_api::extension::Capability;
use serde_json::{Value, json};

use crate::cases;
use crate::generation::Generation;
use crate::revision::Revision;
use crate::runtime::{CallError, Compiler, Engines, Guest};

/// What loads and runs components.
pub(crate) struct Runtime {
    engines: Engines,
    compiler: Compiler,
}

/// A step of a revision's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Its bytes are brought.
    Fetch,
    /// They are what they should be, and ask for no more than is granted.
    Verify,
    /// They become machine code.
    Compile,
    /// What it imports is there.
    Link,
    /// It takes its params.
    CheckParams,
    /// It answers its golden cases.
    SelfTest,
    /// It has served, and turned bad or was rolled back.
    Serve,
}

/// Why a revision does not serve.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{step}: {reason}")]
pub struct Refusal {
    /// The step that failed.
    pub step: Step,
    /// Why, and what to do.
    pub reason: String,
}

// === impl Runtime ===

impl Runtime {
    /// Starts engine and compiler; compiled components are kept in `artifacts`.
    pub(crate) fn start(artifacts: Option<&Path>) -> wasmtime::Result<Self> {
        Ok(Self::of(Engines::start()?, artifacts))
    }

    pub(crate) fn of(engines: Engines, artifacts: Option<&Path>) -> Self {
        let compiler = Compiler::start(engines.engine(), artifacts);
        Self { engines, compiler }
    }

    /// Makes generation `number` of `revision`.
    pub(crate) async fn load(&self, revision: Revision, number: u64) -> Result<Generation, Refusal> {
        verify(&revision)?;
        let compiled = self.compiler.compile(revision.code.clone()).await;
        let component = compiled.map_err(|error| refusal(Step::Compile, &error))?;
        let instance = self.engines.link(&component).map_err(|error| refusal(Step::Link, &error))?;
        let guest = Guest::of(instance);
        if guest.exports().iter().all(|export| *export == "lifecycle") {
            let reason = "it exports nothing that a host asks; export an interface of orrery:plugin@0.1.0";
            return Err(Refusal { step: Step::Link, reason: reason.to_owned() });
        }
        let mut generation = Generation::new(number, revision, guest);
        check_params(&generation).await?;
        if let Some(fields) = fields_read(&generation).await {
            generation.reads_of_clusters(&fields);
        }
        cases::check(&generation).await.map_err(|reason| Refusal { step: Step::SelfTest, reason })?;
        Ok(generation)
    }
}

fn verify(revision: &Revision) -> Result<(), Refusal> {
    let is_missing = |capability: &&Capability| !revision.capabilities.contains(*capability);
    match revision.code.manifest.capabilities.iter().find(is_missing) {
        Some(capability) => {
            let capability = capability.as_str();
            let reason = format!(
                "it asks for {capability}, which is not granted; to grant it, write `capabilities: [{capability}]` in the Plugin"
            );
            Err(Refusal { step: Step::Verify, reason })
        }
        None => Ok(()),
    }
}

/// The fields of clusters that a rule reads; `None` where it is none, or may read all.
async fn fields_read(generation: &Generation) -> Option<Vec<String>> {
    generation.revision.target?;
    let request = json!({"settings": generation.revision.params}).to_string();
    let explained = generation.guest().explain(&generation.caller(), &request).await.ok()?;
    let explained: Value = serde_json::from_str(&explained).ok()?;
    serde_json::from_value(explained["clusterFields"].clone()).ok()
}

/// A plugin without lifecycle has no params to check.
async fn check_params(generation: &Generation) -> Result<(), Refusal> {
    let params = generation.revision.params.to_string();
    match generation.guest().check_params(&generation.caller(), &params).await {
        Ok(()) | Err(CallError::Unasked(_)) => Ok(()),
        Err(CallError::Said { message, .. }) => Err(Refusal { step: Step::CheckParams, reason: message }),
        Err(error) => Err(refusal(Step::CheckParams, &error)),
    }
}

fn refusal(step: Step, error: &dyn fmt::Display) -> Refusal {
    Refusal { step, reason: error.to_string() }
}

// === impl Step ===

impl Step {
    /// As statuses, metrics and logs write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Verify => "verify",
            Self::Compile => "compile",
            Self::Link => "link",
            Self::CheckParams => "check-params",
            Self::SelfTest => "self-test",
            Self::Serve => "serve",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
