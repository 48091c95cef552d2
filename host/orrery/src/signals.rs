//! SIGTERM and SIGINT drain; SIGHUP reads the members anew.

use orrery_cli::{Environment, ServeArgs};
use orrery_fleet::Fleet;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::serve::members;

pub(crate) async fn handle(args: ServeArgs, fleet: Fleet, stop: CancellationToken) {
    let listened = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()));
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = listened else {
        error!("signals cannot be listened to: the host ends at once when it is told to");
        return;
    };
    loop {
        tokio::select! {
            () = received(&mut terminate) => break,
            () = received(&mut interrupt) => break,
            () = received(&mut hangup) => reload(&args, &fleet).await,
        }
    }
    info!("draining");
    stop.cancel();
}

async fn received(signal: &mut Signal) {
    if signal.recv().await.is_none() {
        std::future::pending::<()>().await;
    }
}

/// Members join and leave by name. What cannot be read changes nothing.
async fn reload(args: &ServeArgs, fleet: &Fleet) {
    let settings = args.clone().load(&Environment::of_process()).map_err(anyhow::Error::from);
    let resolved = settings.and_then(|settings| members(&settings));
    match resolved {
        Ok(members) => {
            info!(members = members.len(), "members read anew");
            fleet.replace(members).await;
        }
        Err(error) => error!(reason = format!("{error:#}"), "members stay as they are: they cannot be read anew"),
    }
}
