use orrery_api::{CLUSTER_KEY, CLUSTERS_KEY, ClusterName, Stamp};
use orrery_markers::{Marker, MemberVersion};
use serde::Deserialize;

use super::Pairs;
use super::members::Members;

/// How one object of a member is shown to clients.
#[derive(Clone, Debug)]
pub(crate) struct Showing<'a> {
    pub(crate) stamp: Stamp,
    pub(crate) cluster: &'a ClusterName,
    /// All clusters that hold it, where it is one object in several.
    pub(crate) holders: &'a [ClusterName],
    /// Its name here.
    pub(crate) served: &'a str,
    /// Its name there.
    pub(crate) name: &'a str,
    /// Its resourceVersion here; `None` takes out the one that it has.
    pub(crate) marker: Option<Marker>,
}

/// What is read of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Head {
    pub(crate) kind: String,
    pub(crate) metadata: HeadMetadata,
    pub(crate) details: Option<Details>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct HeadMetadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) finalizers: Option<Vec<String>>,
}

/// Of a Status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Details {
    pub(crate) uid: String,
}

// === impl Head ===

impl Head {
    pub(crate) fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    pub(crate) fn is_status(&self) -> bool {
        self.kind == "Status"
    }

    /// The state of an object that it shows.
    pub(crate) fn version(&self) -> Option<MemberVersion> {
        let metadata = &self.metadata;
        MemberVersion::parse(&metadata.resource_version).filter(|_| !metadata.uid.is_empty())
    }

    /// Whether it is an object that nothing holds back from going.
    pub(crate) fn is_going(&self) -> bool {
        let HeadMetadata { deletion_timestamp, finalizers, .. } = &self.metadata;
        deletion_timestamp.is_some() && finalizers.as_ref().is_none_or(Vec::is_empty)
    }

    /// Whether it is an object that is to go and that something holds back.
    pub(crate) fn is_held(&self) -> bool {
        self.metadata.deletion_timestamp.is_some() && !self.is_going()
    }
}

// === impl Showing ===

impl Showing<'_> {
    /// An object as clients see it.
    pub(crate) fn object(&self, json: &str) -> Option<String> {
        self.outward(json, true)
    }

    /// What is no object of the resource, but is about one: a Scale, a token.
    pub(crate) fn part(&self, json: &str) -> Option<String> {
        self.outward(json, false)
    }

    /// A Status of the member: it names the object as clients do.
    pub(crate) fn status(&self, json: &str) -> Option<String> {
        let mut status = Members::parse(json).ok()?;
        if self.served != self.name && !self.name.is_empty() {
            let quoted = |name: &str| format!("\"{name}\"");
            let named = |text: &str| Ok::<_, ()>(Some(text.replace(&quoted(self.name), &quoted(self.served))));
            status.edit_text("message", named).ok()?;
            let name = |details: &mut Members<'_>| details.edit_text("name", |name| Ok::<_, ()>(self.renamed(name)));
            status.edit_object("details", name).ok()?;
        }
        Some(status.to_string())
    }

    fn outward(&self, json: &str, stamps: bool) -> Option<String> {
        let mut object = Members::parse(json).ok()?;
        let metadata = |metadata: &mut Members<'_>| -> Result<(), ()> {
            metadata.edit_text::<()>("name", |name| Ok(self.renamed(name)))?;
            match self.marker {
                Some(marker) => metadata.set_text("resourceVersion", &marker.to_string()),
                None => metadata.remove("resourceVersion"),
            }
            if stamps {
                self.stamp(metadata);
            }
            Ok(())
        };
        object.edit_object::<()>("metadata", metadata).ok()?;
        Some(object.to_string())
    }

    fn renamed(&self, name: &str) -> Option<String> {
        (name == self.name && self.served != self.name).then(|| self.served.to_owned())
    }

    fn stamp(&self, metadata: &mut Members<'_>) {
        for pairs in Pairs::BOTH {
            for key in pairs.stamped(self.stamp) {
                let value = match *key {
                    CLUSTER_KEY => self.cluster.to_string(),
                    CLUSTERS_KEY if !self.holders.is_empty() => {
                        self.holders.iter().map(ClusterName::as_str).collect::<Vec<_>>().join(",")
                    }
                    _ => continue,
                };
                let mut map = metadata.object(pairs.as_str()).unwrap_or_default();
                map.set_text(key, &value);
                metadata.set(pairs.as_str(), map.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn showing(cluster: &ClusterName) -> Showing<'_> {
        let marker = Marker::new(99).ok();
        Showing { stamp: Stamp::Label, cluster, holders: &[], served: "web.east", name: "web", marker }
    }

    #[test]
    fn an_object_comes_out_with_served_name_marker_and_stamp() {
        let east = ClusterName::new("east").unwrap();
        let object = r#"{"kind":"Pod","metadata":{"name":"web","uid":"u","resourceVersion":"7","labels":{"orrery.dev/cluster":"mine"}},"spec":{"web":1.0}}"#;
        assert_eq!(
            showing(&east).object(object).unwrap(),
            r#"{"kind":"Pod","metadata":{"name":"web.east","uid":"u","resourceVersion":"99","labels":{"orrery.dev/cluster":"east"},"annotations":{"orrery.dev/cluster":"east"}},"spec":{"web":1.0}}"#
        );
        let scale = r#"{"kind":"Scale","metadata":{"name":"web","resourceVersion":"7"}}"#;
        assert_eq!(
            showing(&east).part(scale).unwrap(),
            r#"{"kind":"Scale","metadata":{"name":"web.east","resourceVersion":"99"}}"#
        );
        let tried = Showing { marker: None, ..showing(&east) };
        assert_eq!(tried.part(scale).unwrap(), r#"{"kind":"Scale","metadata":{"name":"web.east"}}"#);
    }

    #[test]
    fn a_status_names_the_object_as_clients_do() {
        let east = ClusterName::new("east").unwrap();
        let status = r#"{"kind":"Status","message":"pods \"web\" not found, webs \"web2\"","details":{"name":"web","kind":"pods"}}"#;
        assert_eq!(
            showing(&east).status(status).unwrap(),
            r#"{"kind":"Status","message":"pods \"web.east\" not found, webs \"web2\"","details":{"name":"web.east","kind":"pods"}}"#
        );
    }

    #[test]
    fn what_an_answer_tells_is_read_from_its_head() {
        let head = |json: &str| Head::read(json.as_bytes()).unwrap();
        let going = head(r#"{"kind":"Pod","metadata":{"uid":"u","resourceVersion":"7","deletionTimestamp":"x"}}"#);
        assert!(going.is_going() && going.version() == Some(MemberVersion::from_number(7)));
        let held = head(r#"{"metadata":{"deletionTimestamp":"x","finalizers":["a"]}}"#);
        assert!(held.is_held() && !held.is_going() && !going.is_held());
        let status = head(r#"{"kind":"Status","metadata":{},"details":{"uid":"u"}}"#);
        assert!(status.is_status() && status.version().is_none());
        assert_eq!(status.details.unwrap().uid, "u");
        assert_eq!(head(r#"{"kind":"TokenRequest","metadata":{"resourceVersion":"7"}}"#).version(), None);
    }
}
