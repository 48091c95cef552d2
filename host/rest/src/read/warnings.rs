use std::collections::BTreeMap;
use std::time::SystemTime;

use http::HeaderValue;
use orrery_api::ClusterName;

/// How a cluster is seen by a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Loaded, and nothing comes since then.
    Stale { since: SystemTime, reason: String, objects: usize },
    /// Never loaded: the read lacks what it has.
    Away { reason: String },
}

/// `Warning` headers (RFC 7234, 299) for the clusters that a read does not see as they are.
pub(crate) fn warnings(sights: &BTreeMap<ClusterName, Sight>, resource: &str, now: SystemTime) -> Vec<HeaderValue> {
    let texts = sights.iter().map(|(cluster, sight)| match sight {
        Sight::Stale { since, reason, objects } => {
            let seconds = now.duration_since(*since).unwrap_or_default().as_secs();
            format!("cluster {cluster} not seen for {seconds}s, its {objects} {resource} may be stale: {reason}")
        }
        Sight::Away { reason } => format!("cluster {cluster} is away, its {resource} are missing: {reason}"),
    });
    texts.filter_map(|text| header(&text)).collect()
}

/// A warning as a header: the text quoted, cut to a bearable length, and without what a header cannot hold.
pub(crate) fn header(text: &str) -> Option<HeaderValue> {
    const CHARS_MAX: usize = 300;
    let mut quoted = String::from("299 orrery \"");
    for c in text.chars().take(CHARS_MAX) {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || !c.is_ascii() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    HeaderValue::from_str(&quoted).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stale_and_an_away_cluster_are_named_with_what_is_wrong() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let since = now - Duration::from_secs(42);
        let sights = BTreeMap::from([
            (
                ClusterName::new("east").unwrap(),
                Sight::Stale { since, reason: "refused \"x\"\n".to_owned(), objects: 120 },
            ),
            (ClusterName::new("west").unwrap(), Sight::Away { reason: "no answer".to_owned() }),
        ]);
        assert_eq!(
            warnings(&sights, "pods", now),
            [
                r#"299 orrery "cluster east not seen for 42s, its 120 pods may be stale: refused \"x\" ""#,
                r#"299 orrery "cluster west is away, its pods are missing: no answer""#
            ]
        );
    }
}
