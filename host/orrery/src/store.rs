//! The marker store that the settings name.

use std::fs;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use orrery_api::config::Password;
use orrery_cli::{EtcdPlace, PasswordSource, StorePlace};
use orrery_markers::MarkerStore;
use orrery_stores::{DirLock, EtcdSettings, EtcdStore, MemoryStore, Metrics, RedbStore};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

pub(crate) enum Store {
    /// One that nobody else can take.
    Own(Arc<dyn MarkerStore>),
    /// One that another host may.
    Etcd(Arc<EtcdStore>),
}

// === impl Store ===

impl Store {
    pub(crate) async fn open(place: &StorePlace, lock: Arc<DirLock>, metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(match place {
            StorePlace::Embedded => Self::Own(Arc::new(RedbStore::open(lock, metrics.clone())?)),
            StorePlace::Memory => {
                warn!("markers live in memory: after a restart every client lists anew");
                Self::Own(Arc::new(MemoryStore::new()))
            }
            StorePlace::Etcd(place) => {
                let settings = etcd_settings(place)?;
                info!(endpoints = place.endpoints.join(","), prefix = settings.prefix, "markers live in etcd");
                Self::Etcd(Arc::new(EtcdStore::open(settings, lock, metrics.clone()).await?))
            }
        })
    }

    pub(crate) fn markers(&self) -> Arc<dyn MarkerStore> {
        match self {
            Self::Own(store) => store.clone(),
            Self::Etcd(store) => store.clone(),
        }
    }

    /// Waits for `stop`. Where another host takes the store over before, it cancels `stop` itself, as what this host has
    /// to show is old from then on.
    pub(crate) async fn ends_when_taken_over(&self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self::Etcd(store) = self else { return Ok(()) };
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            holder = store.taken_over() => {
                error!(%holder, "another host has taken the store over: this one ends");
                stop.cancel();
                bail!("another host has taken the store over while this one could not renew its lease: {holder}")
            }
        }
    }

    /// Lets a successor have the store at once.
    pub(crate) async fn release(&self) {
        if let Self::Etcd(store) = self {
            store.release().await;
        }
    }
}

fn etcd_settings(place: &EtcdPlace) -> anyhow::Result<EtcdSettings> {
    let defaults = EtcdSettings::new(place.endpoints.clone());
    let user = place.user.as_ref().map(|(name, source)| Ok::<_, anyhow::Error>((name.clone(), password(source)?)));
    Ok(EtcdSettings {
        prefix: place.prefix.clone().unwrap_or(defaults.prefix),
        ca_file: place.ca_file.clone(),
        client_files: place.client_files.clone(),
        user: user.transpose()?,
        ..defaults
    })
}

fn password(source: &PasswordSource) -> anyhow::Result<String> {
    let password = match source {
        PasswordSource::Given(password) => password.clone(),
        PasswordSource::File(path) => {
            let text = fs::read_to_string(path);
            Password::new(&text.with_context(|| format!("cannot read etcd's password from {}", path.display()))?)
        }
    };
    Ok(password.reveal().to_owned())
}
