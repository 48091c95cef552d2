use std::fs;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use orrery_api::status::{PLACE_PATH, Placement, PlacementCluster};
use serde_json::Value;

use crate::columns::Columns;
use crate::data::DataArgs;
use crate::host::Host;
use crate::{Environment, Error};

/// Flags of `orrery place`.
#[derive(Clone, Debug, clap::Args)]
pub struct PlaceArgs {
    /// Manifest of the object, in YAML or JSON; - for standard input
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    /// Only show where it would go; to make it, use kubectl
    #[arg(long, required = true)]
    dry_run: bool,
    #[command(flatten)]
    data: DataArgs,
}

// === impl PlaceArgs ===

impl PlaceArgs {
    pub(crate) async fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let host = Host::find(&self.data, environment).await?;
        let manifest = manifest(&self.filename)?;
        let placement = host.post(PLACE_PATH, "application/json", manifest.to_string().into_bytes()).await?;
        print(&placement, out).map_err(Error::Print)
    }
}

/// The manifest in a file that the user names.
pub(crate) fn manifest(path: &Path) -> Result<Value, Error> {
    let fail = |problem: String| Error::File { path: path.to_owned(), problem };
    let text = match path.to_str() {
        Some("-") => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map(|_| text)
        }
        _ => fs::read_to_string(path),
    };
    let text = text.map_err(|error| fail(error.to_string()))?;
    serde_saphyr::from_str(&text).map_err(|error| fail(error.to_string()))
}

fn print(placement: &Placement, out: &mut dyn Write) -> io::Result<()> {
    let policy = placement.policy.as_deref().unwrap_or("the built-in stages, as no policy is for it");
    let goes = match (&placement.cluster, &placement.failure) {
        (Some(cluster), _) => format!("goes to {cluster}"),
        (None, Some(failure)) => format!("goes nowhere: {failure}"),
        (None, None) => "goes nowhere: no cluster fits".to_owned(),
    };
    writeln!(out, "{} {goes}\nby {policy}", placement.unit)?;
    placement.skipped.iter().try_for_each(|skipped| writeln!(out, "{skipped}"))?;
    if placement.clusters.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut columns = Columns::new(["CLUSTER", "SCORE", "STAGES", "REASON"]);
    for cluster in &placement.clusters {
        columns.row(row(cluster));
    }
    columns.print(out)
}

fn row(cluster: &PlacementCluster) -> [String; 4] {
    let stages = cluster.stages.iter().map(|given| format!("{}={}", given.stage, given.score));
    [
        cluster.name.to_string(),
        cluster.score.map(|score| score.to_string()).unwrap_or_default(),
        stages.collect::<Vec<_>>().join(", "),
        cluster.dropped.clone().unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_is_shown_with_what_each_stage_gave_it_or_why_it_is_out() {
        let text = r#"{"unit":"deployments.apps shop/web","policy":"ClusterPlacementPolicy all","cluster":"west",
            "clusters":[{"name":"east","dropped":"filter by CelPolicy maintenance: under maintenance"},
                        {"name":"west","score":140,"stages":[{"stage":"taints","score":100},{"stage":"spread","score":40}]}]}"#;
        let mut out = Vec::new();
        print(&serde_json::from_str(text).unwrap(), &mut out).unwrap();
        expect_test::expect![[r"
            deployments.apps shop/web goes to west
            by ClusterPlacementPolicy all

            CLUSTER   SCORE   STAGES                  REASON
            east      -       -                       filter by CelPolicy maintenance: under maintenance
            west      140     taints=100, spread=40   -
        "]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }

    #[test]
    fn where_it_goes_nowhere_the_failure_is_said() {
        let text = r#"{"unit":"pods a/b","failure":"placement stage x could not judge: out of fuel"}"#;
        let mut out = Vec::new();
        print(&serde_json::from_str(text).unwrap(), &mut out).unwrap();
        let wanted = "pods a/b goes nowhere: placement stage x could not judge: out of fuel\nby the built-in stages, as no policy is for it\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
