use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::SystemTime;

use clap::builder::PossibleValuesParser;
use orrery_api::status::{ClusterState, MemberStatus, ResourceClusterStatus, ResourceStatus, STATUS_PATH, Status};

use crate::columns::Columns;
use crate::data::DataArgs;
use crate::host::Host;
use crate::{Environment, Error};

/// Flags of `orrery status`.
#[derive(Clone, Debug, clap::Args)]
pub struct StatusArgs {
    /// Print the document as it is
    #[arg(short, long, value_parser = PossibleValuesParser::new(["json"]))]
    output: Option<String>,
    #[command(flatten)]
    data: DataArgs,
}

// === impl StatusArgs ===

impl StatusArgs {
    pub(crate) async fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let host = Host::find(&self.data, environment).await?;
        let printed = match self.output {
            // As the host wrote it, so that fields that this command does not know are there too.
            Some(_) => {
                host.get::<serde_json::Value>(STATUS_PATH).await.map(|document| writeln!(out, "{document:#}"))?
            }
            None => print(&host.get(STATUS_PATH).await?, SystemTime::now(), out),
        };
        printed.map_err(Error::Print)
    }
}

fn print(status: &Status, now: SystemTime, out: &mut dyn Write) -> io::Result<()> {
    let mut members = Columns::new(["MEMBER", "REACHABLE", "VERSION", "LAG", "LAST SEEN", "REASON"]);
    for member in &status.members {
        members.row(member_row(member, now));
    }
    members.print(out)?;
    writeln!(out)?;
    let mut resources = Columns::new(["RESOURCE", "VERSION", "OBJECTS", "WATCHERS", "HEAD", "FLOOR", "CLUSTERS"]);
    for resource in &status.resources {
        resources.row(resource_row(resource, now));
    }
    resources.print(out)?;
    if status.resources.is_empty() {
        writeln!(out, "(none yet: a resource is observed from its first use)")?;
    }
    Ok(())
}

fn member_row(member: &MemberStatus, now: SystemTime) -> [String; 6] {
    [
        member.name.to_string(),
        if member.reachable { "yes" } else { "no" }.to_owned(),
        member.version.clone().unwrap_or_default(),
        member.lag_s.map(|s| format!("{s:.3}s")).unwrap_or_default(),
        member.last_seen.map(|time| format!("{} ago", age(time, now))).unwrap_or_default(),
        member.reason.clone().unwrap_or_default(),
    ]
}

fn resource_row(resource: &ResourceStatus, now: SystemTime) -> [String; 7] {
    let clusters: Vec<_> = resource.clusters.iter().map(|cluster| cluster_text(cluster, now)).collect();
    [
        resource.resource.clone(),
        resource.version.clone(),
        resource.objects.to_string(),
        resource.watchers.to_string(),
        resource.head.to_string(),
        resource.floor.to_string(),
        clusters.join(", "),
    ]
}

/// `east 12`, or `west 3 stale for 5s (connection refused)`.
fn cluster_text(cluster: &ResourceClusterStatus, now: SystemTime) -> String {
    let mut text = format!("{} {}", cluster.name, cluster.objects);
    text.push_str(match cluster.state {
        ClusterState::Loaded => "",
        ClusterState::Loading => " loading",
        ClusterState::Stale => " stale",
        ClusterState::Away => " away",
    });
    let since = cluster.since.map(|since| format!(" for {}", age(since, now)));
    let reason = cluster.reason.as_ref().map(|reason| format!(" ({reason})"));
    for part in [since, reason].into_iter().flatten() {
        text.push_str(&part);
    }
    text
}

/// The time from `time` to `now` in its two largest units.
pub(crate) fn age(time: SystemTime, now: SystemTime) -> String {
    let s = now.duration_since(time).unwrap_or_default().as_secs();
    let units = [(s / 86_400, "d"), (s / 3600 % 24, "h"), (s / 60 % 60, "m"), (s % 60, "s")];
    let first = units.iter().position(|(count, _)| *count > 0).unwrap_or(3);
    let mut text = String::new();
    for (count, unit) in units[first..].iter().take(2).filter(|(count, _)| *count > 0) {
        write!(text, "{count}{unit}").expect("a String takes all");
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn members_and_resources_are_shown_in_columns() {
        let text = r#"{"members":[
              {"name":"east","reachable":true,"version":"v1.37.2","lagSeconds":0.0121,"lastSeen":"2027-01-15T07:59:59Z"},
              {"name":"west","reachable":false,"lastSeen":"2027-01-15T06:58:00Z","reason":"connection refused"}],
            "resources":[{"resource":"pods","version":"v1","head":"9","floor":"3","objects":15,"watchers":2,"clusters":[
              {"name":"east","state":"Loaded","objects":12},
              {"name":"west","state":"Stale","objects":3,"reason":"connection refused","since":"2027-01-15T07:59:18Z"}]}]}"#;
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let mut out = Vec::new();
        print(&serde_json::from_str(text).unwrap(), now, &mut out).unwrap();
        expect_test::expect![[r"
            MEMBER   REACHABLE   VERSION   LAG      LAST SEEN   REASON
            east     yes         v1.37.2   0.012s   1s ago      -
            west     no          -         -        1h2m ago    connection refused

            RESOURCE   VERSION   OBJECTS   WATCHERS   HEAD   FLOOR   CLUSTERS
            pods       v1        15        2          9      3       east 12, west 3 stale for 42s (connection refused)
        "]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_host_that_serves_nothing_yet_says_so() {
        let mut out = Vec::new();
        print(&Status::default(), SystemTime::now(), &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("none yet"));
    }
}
