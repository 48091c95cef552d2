//! The judges are judged: against one real kube-apiserver they find nothing wrong.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{ClusterSpec, eventually};
use orrery_real::{COMETS, Churn, Kind, Recorder, check_union, held};

#[test]
fn a_recorder_of_a_kube_apiserver_under_churn_ends_with_what_it_holds() -> Result<()> {
    let cluster = ClusterSpec::bare("east").start()?;
    cluster.kubectl().apply(COMETS)?;
    cluster.kubectl().ok(&["wait", "--for=condition=Established", "crd/comets.sky.example.com", "--timeout=20s"])?;
    let client = cluster.client()?;
    let recorders: Vec<_> =
        Kind::ALL.iter().map(|kind| Recorder::start(&client, kind.everywhere())).collect::<Result<_>>()?;
    let churn = Churn::start(&[&cluster], &Kind::ALL, Duration::from_millis(5))?;
    thread::sleep(Duration::from_secs(6));
    let written = churn.stop()?;
    ensure!(written.unanswered == 0, "{written:?}");
    for (kind, recorder) in Kind::ALL.iter().zip(&recorders) {
        client.create(kind.in_default(), &kind.object("last", "front"))?;
        let recording = eventually("the recorder sees the last object", Duration::from_secs(10), || {
            let recording = recorder.recording();
            ensure!(recording.objects.values().any(|object| object.name == "last"), "it is not there");
            Ok(recording)
        })?;
        ensure!(recording.faults.is_empty(), "{:#?}", recording.faults);
        check_union(&recording.objects, &held(&[&cluster], *kind)?)?;
        ensure!(recording.events > 20 && recording.watches > 1 && recording.lists == 1, "{recording:?}");
    }
    Ok(())
}
