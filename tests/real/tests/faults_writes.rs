//! A member or the host goes down while writes of every verb are in flight. Each is answered honestly or cut off: what was
//! said to be done is done, what was said not to be done (503) is not, and of the rest (504, a cut connection) nobody knows.
//! No create is done twice.

mod faults_writes {
    pub(crate) mod outcome;
    pub(crate) mod writers;
}

use std::time::Duration;

use anyhow::Result;
use orrery_harness::{Cluster, ClusterSpec, Host, HostSpec, eventually, start_all};
use orrery_real::{Kind, union_is_shown};

use faults_writes::writers::Writers;

const SOON: Duration = Duration::from_secs(60);
/// A write that a frozen member has begun is waited for.
const GIVEN_UP: Duration = Duration::from_secs(50);

/// Does `fault` some `times` while writes to east are in flight, `mend`s it, and holds what was answered against what
/// east has in the end.
fn is_told_honestly(
    times: usize,
    fault: impl Fn(&mut Host, &mut Cluster) -> Result<()>,
    mend: impl Fn(&mut Host, &mut Cluster) -> Result<()>,
) -> Result<()> {
    let [mut east, west] = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
    let mut host = HostSpec::new().member(&east).member(&west).start()?;
    let client = host.client()?;
    let writers = Writers::start(&client, east.name())?;
    for _ in 0..times {
        let before = writers.counts();
        eventually("every verb is done", SOON, || writers.all_done_since(&before))?;
        let before = writers.counts();
        fault(&mut host, &mut east)?;
        eventually("every verb notices", GIVEN_UP, || writers.all_failed_since(&before))?;
        mend(&mut host, &mut east)?;
    }
    let before = writers.counts();
    eventually("every verb is done once more", SOON, || writers.all_done_since(&before))?;
    writers.finish(&east.client()?)?;
    union_is_shown(&client, &[&east, &west], Kind::ConfigMaps, SOON).map(drop)
}

#[test]
fn writes_are_told_honestly_when_their_member_is_killed() -> Result<()> {
    is_told_honestly(3, |_, east| east.kill_apiserver(), |_, east| east.start_apiserver())
}

#[test]
fn writes_are_told_honestly_when_their_member_freezes() -> Result<()> {
    is_told_honestly(1, |_, east| east.pause(), |_, east| east.resume())
}

#[test]
fn writes_are_told_honestly_when_the_host_is_killed() -> Result<()> {
    is_told_honestly(3, |host, _| host.kill9(), |host, _| host.restart())
}
