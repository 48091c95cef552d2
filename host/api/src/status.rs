//! The documents that a running host answers with under `/orrery/v1`: what `orrery status` and `orrery clock` print.
//!
//! JSON, camelCase, one object each. Markers and member versions are decimal strings, as resourceVersions are in every
//! Kubernetes document; times are RFC 3339 in UTC; durations are seconds. What is not known is left out.

mod extensions;
mod text;

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::ClusterName;

pub use extensions::{
    ClusterScore, EXTENSIONS_PATH, ExtensionLogLine, ExtensionLogs, ExtensionState, ExtensionStatus, Extensions,
    GenerationStatus, Moved, PLACE_PATH, Placement, PlacementCluster, RefusalStatus, Replay, SCORES_PATH, StageScore,
    TRY_PATH, Trial,
};

/// Path of [`Status`].
pub const STATUS_PATH: &str = "/orrery/v1/status";

/// Path of [`Clock`]; the query has `resource` (as `pods` or `deployments.apps`) and, where the head is not meant,
/// `marker`.
pub const CLOCK_PATH: &str = "/orrery/v1/clock";

/// The host as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The members, in fleet order.
    pub members: Vec<MemberStatus>,
    /// The resources that were begun, by group, resource and version.
    pub resources: Vec<ResourceStatus>,
}

/// One member of the fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberStatus {
    /// Its name in the fleet.
    pub name: ClusterName,
    /// Whether it answers now.
    pub reachable: bool,
    /// Its `gitVersion`, as `v1.37.2`; kept while it is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How far the host is behind it, in seconds: from the time that its newest observed change was made to the time
    /// that the host had it. Absent until something was observed.
    #[serde(rename = "lagSeconds", default, skip_serializing_if = "Option::is_none")]
    pub lag_s: Option<f64>,
    /// When it last answered.
    #[serde(default, with = "text::time", skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<SystemTime>,
    /// Why it does not answer, or what it refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One resource in one served version, since its first use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceStatus {
    /// Its name with its group, as `pods` or `deployments.apps`.
    pub resource: String,
    /// The served version, as `v1`.
    pub version: String,
    /// The newest marker.
    #[serde(with = "text::marker")]
    pub head: u64,
    /// The oldest marker that a watch can start from; below it the answer is 410.
    #[serde(with = "text::marker")]
    pub floor: u64,
    /// How many objects a list shows now.
    pub objects: u64,
    /// How many watches are open.
    pub watchers: u64,
    /// Each member that serves it, in fleet order.
    pub clusters: Vec<ResourceClusterStatus>,
}

/// One resource in one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClusterStatus {
    /// The member.
    pub name: ClusterName,
    /// Whether its objects are there.
    pub state: ClusterState,
    /// How many objects of it the host holds.
    pub objects: u64,
    /// Why it is away or stale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when it is stale.
    #[serde(default, with = "text::time", skip_serializing_if = "Option::is_none")]
    pub since: Option<SystemTime>,
}

/// How a member's objects of one resource stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClusterState {
    /// The first list is under way.
    Loading,
    /// All are there, and changes arrive.
    Loaded,
    /// All were there, and changes do not arrive now.
    Stale,
    /// They could not be loaded; lists lack them.
    Away,
}

/// What one marker stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Clock {
    /// The resource with its group, as `pods` or `deployments.apps`.
    pub resource: String,
    /// The served version, as `v1`.
    pub version: String,
    /// The marker that was asked for; the head, where none was.
    #[serde(with = "text::marker")]
    pub marker: u64,
    /// The newest marker of the resource.
    #[serde(with = "text::marker")]
    pub head: u64,
    /// The oldest marker that can be asked for.
    #[serde(with = "text::marker")]
    pub floor: u64,
    /// What had been seen of each member at that marker, in fleet order.
    pub clusters: Vec<ClockHand>,
}

/// Up to where one member had been seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockHand {
    /// The member.
    pub name: ClusterName,
    /// Its own resourceVersion up to which everything had been seen; absent where nothing had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn east() -> ClusterName {
        ClusterName::new("east").unwrap()
    }

    #[test]
    fn a_status_is_read_back_from_its_json() {
        let seen = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_250);
        let member = MemberStatus {
            name: east(),
            reachable: false,
            version: Some("v1.37.2".into()),
            lag_s: Some(0.25),
            last_seen: Some(seen),
            reason: Some("connection refused".into()),
        };
        let cluster = ResourceClusterStatus {
            name: east(),
            state: ClusterState::Stale,
            objects: 3,
            reason: Some("connection refused".into()),
            since: Some(seen),
        };
        let resource = ResourceStatus {
            resource: "deployments.apps".into(),
            version: "v1".into(),
            head: 1_800_000_000_000_000,
            floor: 1_799_999_000_000_000,
            objects: 3,
            watchers: 1,
            clusters: vec![cluster],
        };
        let status = Status { members: vec![member], resources: vec![resource] };
        let json = serde_json::to_value(&status).unwrap();
        assert_eq!(json["members"][0]["lastSeen"], json!("2027-01-15T08:00:00.25Z"));
        assert_eq!(json["resources"][0]["head"], json!("1800000000000000"));
        assert_eq!(json["resources"][0]["clusters"][0]["state"], json!("Stale"));
        assert_eq!(serde_json::from_value::<Status>(json).unwrap(), status);
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let member =
            MemberStatus { name: east(), reachable: true, version: None, lag_s: None, last_seen: None, reason: None };
        let json = serde_json::to_value(&member).unwrap();
        assert_eq!(json, json!({"name": "east", "reachable": true}));
        assert_eq!(serde_json::from_value::<MemberStatus>(json).unwrap(), member);
    }

    #[test]
    fn a_clock_with_a_marker_that_is_no_number_is_refused() {
        let clock =
            json!({"resource": "pods", "version": "v1", "marker": "x", "head": "2", "floor": "1", "clusters": []});
        let error = serde_json::from_value::<Clock>(clock).unwrap_err().to_string();
        assert!(error.contains("\"x\" is no marker"), "{error}");
    }
}
