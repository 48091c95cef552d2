//! `orrery serve`: the wiring, in the order of the picture in ARCHITECTURE.md.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context as _;
use orrery_api::config::ByteSize;
use orrery_auth::{CertificateSettings, Certificates, ServingFiles};
use orrery_cache::Budget;
use orrery_cli::{Contexts, Environment, ServeArgs, Settings};
use orrery_extensions::{Extensions, Policies, Registry};
use orrery_fleet::{Fleet, FleetSettings, MemberFlags, MemberSpec};
use orrery_rest::Front;
use orrery_sequencer::{Sequencer, WallClock};
use orrery_stores::DirLock;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::metrics::Metrics;
use crate::store::Store;
use crate::{checks, files, logs, memory, signals};

/// Serves until a signal ends it.
pub(crate) async fn serve(args: ServeArgs) -> anyhow::Result<()> {
    let settings = args.clone().load(&Environment::of_process())?;
    logs::begin(&settings)?;
    files::raise_limit();
    let (metrics, registry) = Metrics::registered();
    let lock = Arc::new(DirLock::take(&settings.data).context("cannot use the data directory")?);
    let store = Store::open(&settings.store, lock, &metrics.stores).await?;

    let extensions =
        settings.extensions.as_ref().map(|directory| extensions(directory, &settings, &metrics)).transpose()?;

    let (stop, end) = (CancellationToken::new(), CancellationToken::new());
    let members = members(&settings)?;
    say_members(&members);
    // Hosts that start together must not ask members at the same moments.
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos().into());
    let fleet = Fleet::start(members, FleetSettings { seed, ..FleetSettings::default() }, metrics.fleet.clone());
    let budget = Budget::new(settings.cache_bytes_max.map_or_else(memory::cache_bytes_max, ByteSize::bytes));
    let sequencer = Sequencer::new(
        fleet.clone(),
        store.markers(),
        budget,
        orrery_sequencer::Settings {
            stamp: settings.stamp,
            namespaces: settings.namespaces.clone(),
            wall_clock: WallClock::default(),
        },
        metrics.sequencer.clone(),
        metrics.cache.clone(),
        end.clone(),
    );

    let listener =
        TcpListener::bind(settings.listen).await.with_context(|| format!("cannot listen on {}", settings.listen))?;
    let certificates = certificates(&settings, &listener, &metrics)?;
    let front = Front {
        fleet: fleet.clone(),
        sequencer,
        policies: extensions.as_ref().map_or_else(Policies::none, Extensions::policies),
        settings: orrery_rest::Settings { stamp: settings.stamp, ..orrery_rest::Settings::default() },
        metrics: metrics.rest,
        registry: Arc::new(registry),
        checks: checks::of(&fleet),
    };
    info!(address = %listener.local_addr()?, kubeconfig = %certificates.kubeconfig_path().display(), "serving");

    let tls = certificates.server_config();
    tokio::spawn(signals::handle(args, fleet, stop.clone()));
    tokio::spawn(certificates.keep_renewed(stop.clone()));
    if let Some(extensions) = extensions {
        tokio::spawn(extensions.follow(stop.clone()));
    }
    let serving = orrery_rest::serve(listener, tls, front, stop.clone());
    let ((), taken_over) = tokio::join!(serving, store.ends_when_taken_over(stop));
    // Only now: watches end cleanly with the drain, not because their resource did.
    end.cancel();
    store.release().await;
    info!("drained");
    taken_over
}

/// The extensions in `directory`; what is compiled of them stays in the data directory.
fn extensions(directory: &Path, settings: &Settings, metrics: &Metrics) -> anyhow::Result<Extensions> {
    let kept = settings.data.join("extensions");
    let registry = Registry::start(Some(&kept), metrics.extensions.clone());
    let registry = registry.map_err(|error| anyhow::anyhow!("this machine cannot run WebAssembly: {error:#}"))?;
    Ok(Extensions::open(directory, registry, metrics.extensions.clone())?)
}

/// The members that flags, environment and file name now.
pub(crate) fn members(settings: &Settings) -> anyhow::Result<Vec<MemberSpec>> {
    let contexts = match &settings.contexts {
        Contexts::Named(names) => names.clone(),
        Contexts::Unsaid | Contexts::All => Vec::new(),
    };
    let flags = MemberFlags {
        kubeconfig: settings.kubeconfigs.clone(),
        contexts,
        all_contexts: settings.contexts == Contexts::All,
        members: settings.members.iter().map(ToString::to_string).collect(),
        attributes: settings.clusters.iter().map(|(name, of)| (name.clone(), Arc::new(of.clone()))).collect(),
    };
    flags.resolve().context("cannot tell which clusters are the fleet")
}

fn say_members(members: &[MemberSpec]) {
    for member in members {
        info!(cluster = %member.name, context = member.context.as_deref().unwrap_or("(current)"), "member");
    }
}

fn certificates(settings: &Settings, listener: &TcpListener, metrics: &Metrics) -> anyhow::Result<Certificates> {
    let address = listener.local_addr()?;
    let settings = CertificateSettings {
        data: settings.data.clone(),
        server: orrery_auth::server_url(address),
        listen: (!address.ip().is_unspecified()).then(|| address.ip()),
        names: settings.tls_sans.clone(),
        serving: settings.serving.clone().map(|(certificate, key)| ServingFiles { certificate, key }),
        client_ca: settings.client_ca_file.clone(),
    };
    Ok(Certificates::open(settings, SystemTime::now(), metrics.auth.clone())?)
}
