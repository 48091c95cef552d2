use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Result;
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube_runtime::watcher::{Config, Event};
use kube_runtime::{WatchStreamExt, watcher};

/// kube-rs's watcher of the ConfigMaps of namespace `default`, with its default backoff, on a thread of its own that ends
/// with the program.
#[derive(Debug)]
pub struct KubeRs {
    held: Arc<Mutex<BTreeMap<String, String>>>,
}

/// What is kept of an object: a key and a value.
pub type Entry = fn(&ConfigMap) -> (String, String);

// === impl KubeRs ===

impl KubeRs {
    /// Starts it on the server in `kubeconfig`. Of each object it holds what `entry` says.
    pub fn start(kubeconfig: &Path, config: Config, entry: Entry) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let held: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(async {
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
            anyhow::Ok(kube::Client::try_from(config)?)
        })?;
        let shared = held.clone();
        thread::spawn(move || runtime.block_on(follow(client, config, entry, &shared)));
        Ok(Self { held })
    }

    /// What it holds now.
    pub fn held(&self) -> BTreeMap<String, String> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn follow(client: kube::Client, config: Config, entry: Entry, held: &Mutex<BTreeMap<String, String>>) {
    let events = watcher(kube::Api::<ConfigMap>::namespaced(client, "default"), config).default_backoff();
    pin_mut!(events);
    let mut listing = BTreeMap::new();
    while let Some(event) = events.next().await {
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Ok(Event::Init) => listing.clear(),
            Ok(Event::InitApply(one)) => listing.extend([entry(&one)]),
            Ok(Event::InitDone) => *held = std::mem::take(&mut listing),
            Ok(Event::Apply(one)) => held.extend([entry(&one)]),
            Ok(Event::Delete(one)) => drop(held.remove(&entry(&one).0)),
            Err(_) => {}
        }
    }
}
