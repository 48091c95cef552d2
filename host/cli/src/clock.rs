use std::io::Write;

use orrery_api::status::{CLOCK_PATH, Clock};

use crate::columns::Columns;
use crate::data::DataArgs;
use crate::host::Host;
use crate::{Environment, Error};

/// Flags of `orrery clock`.
#[derive(Clone, Debug, clap::Args)]
pub struct ClockArgs {
    /// Resource, as pods or deployments.apps
    resource: String,
    /// Marker: a resourceVersion that the host gave [default: the newest]
    marker: Option<u64>,
    #[command(flatten)]
    data: DataArgs,
}

// === impl ClockArgs ===

impl ClockArgs {
    pub(crate) async fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let host = Host::find(&self.data, environment).await?;
        print(&host.get(&self.path()).await?, out).map_err(Error::Print)
    }

    fn path(&self) -> String {
        let resource: String = self.resource.bytes().map(encoded).collect();
        let marker = self.marker.map(|marker| format!("&marker={marker}")).unwrap_or_default();
        format!("{CLOCK_PATH}?resource={resource}{marker}")
    }
}

/// One byte of a query value.
fn encoded(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

fn print(clock: &Clock, out: &mut dyn Write) -> std::io::Result<()> {
    let Clock { resource, version, marker, head, floor, clusters } = clock;
    writeln!(out, "{resource} {version}, marker {marker} (head {head}, floor {floor})\n")?;
    let mut columns = Columns::new(["CLUSTER", "RESOURCEVERSION"]);
    for hand in clusters {
        columns.row([hand.name.to_string(), hand.resource_version.clone().unwrap_or_default()]);
    }
    columns.print(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_cannot_break_out_of_the_query() {
        let args = |resource: &str, marker| ClockArgs { resource: resource.into(), marker, data: DataArgs::default() };
        assert_eq!(args("deployments.apps", Some(7)).path(), "/orrery/v1/clock?resource=deployments.apps&marker=7");
        assert_eq!(args("a&b#ü", None).path(), "/orrery/v1/clock?resource=a%26b%23%C3%BC");
    }

    #[test]
    fn each_members_version_is_shown() {
        let text = r#"{"resource":"pods","version":"v1","marker":"5","head":"9","floor":"3",
            "clusters":[{"name":"east","resourceVersion":"812"},{"name":"west"}]}"#;
        let mut out = Vec::new();
        print(&serde_json::from_str(text).unwrap(), &mut out).unwrap();
        expect_test::expect![[r"
            pods v1, marker 5 (head 9, floor 3)

            CLUSTER   RESOURCEVERSION
            east      812
            west      -
        "]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }
}
