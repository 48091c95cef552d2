use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::process::setpriority_process;
use rustix::thread::gettid;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::{Artifacts, Code};

/// Compiles components one after another in a thread that gives way to all others.
#[derive(Debug)]
pub(crate) struct Compiler(SyncSender<Job>);

/// Why there is no compiled component.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum CompileError {
    /// The component is not one that can be compiled.
    #[error("it cannot be compiled: {0}")]
    Refused(String),
    /// It takes too long.
    #[error("compiling takes more than {} s; make it smaller", BOUND.as_secs())]
    Slow,
    /// Too many wait.
    #[error("{QUEUE} components wait to be compiled already")]
    Busy,
}

#[derive(Debug)]
struct Job {
    code: Code,
    done: oneshot::Sender<Result<Component, CompileError>>,
}

/// Components that may wait.
const QUEUE: usize = 64;

/// How long a component may take, with those before it.
const BOUND: Duration = Duration::from_secs(60);

/// How far the thread gives way: the weakest priority.
const NICE: i32 = 19;

// === impl Compiler ===

impl Compiler {
    /// Starts the thread. With a `folder`, what is compiled is kept there.
    pub(crate) fn start(engine: &Engine, folder: Option<&Path>) -> Self {
        let artifacts = folder.and_then(|folder| match Artifacts::open(folder) {
            Ok(artifacts) => Some(artifacts),
            Err(error) => {
                warn!(%error, folder = %folder.display(), "compiled components are not kept: they are compiled at each start");
                None
            }
        });
        let (sender, jobs) = sync_channel(QUEUE);
        let engine = engine.clone();
        let started = thread::Builder::new()
            .name("wasm-compile".to_owned())
            .spawn(move || work(&engine, artifacts.as_ref(), &jobs));
        if let Err(error) = started {
            warn!(%error, "no thread to compile components in: none can be loaded");
        }
        Self(sender)
    }

    pub(crate) async fn compile(&self, code: Code) -> Result<Component, CompileError> {
        let (done, compiled) = oneshot::channel();
        self.0.try_send(Job { code, done }).map_err(|error| match error {
            TrySendError::Full(_) => CompileError::Busy,
            TrySendError::Disconnected(_) => CompileError::Refused("the thread that compiles has ended".to_owned()),
        })?;
        match timeout(BOUND, compiled).await {
            Ok(Ok(component)) => component,
            Ok(Err(_)) => Err(CompileError::Refused("the compiler gave up on it".to_owned())),
            Err(_) => Err(CompileError::Slow),
        }
    }
}

fn work(engine: &Engine, artifacts: Option<&Artifacts>, jobs: &Receiver<Job>) {
    // Linux has a priority for each thread, under the number of the thread.
    if let Err(error) = setpriority_process(Some(gettid()), NICE) {
        warn!(%error, "components are compiled at the host's own priority");
    }
    while let Ok(Job { code, done }) = jobs.recv() {
        if done.is_closed() {
            continue;
        }
        let kept = artifacts.and_then(|artifacts| artifacts.load(engine, &code.bytes));
        let compiled = kept.map_or_else(|| compile(engine, artifacts, &code), Ok);
        let _ = done.send(compiled);
    }
}

fn compile(engine: &Engine, artifacts: Option<&Artifacts>, code: &Code) -> Result<Component, CompileError> {
    // The compiler is large, and what it is given is anybody's: what it trips over must not end the thread.
    let compiled = std::panic::catch_unwind(AssertUnwindSafe(|| Component::new(engine, &code.bytes)));
    let component = match compiled {
        Ok(component) => component.map_err(|error| CompileError::Refused(format!("{error:#}")))?,
        Err(_) => return Err(CompileError::Refused("the compiler failed on it".to_owned())),
    };
    if let Some(artifacts) = artifacts {
        artifacts.store(engine, &code.bytes, &component);
    }
    Ok(component)
}
