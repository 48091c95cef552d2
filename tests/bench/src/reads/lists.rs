//! Lists: the host and the direct API server in turn.

use anyhow::{Result, bail};

use super::pod::CANARY;
use super::{Scale, ceiling};
use crate::client::{Endpoint, Wanted};
use crate::report::{Figure, Target, median};
use crate::say;

/// One list to measure.
struct List {
    name: &'static str,
    path: String,
    wanted: Wanted,
    runs: usize,
    target: Option<f64>,
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const ALL: &str = "/api/v1/pods";

/// Measures all lists.
pub(crate) async fn run(host: &Endpoint, direct: &Endpoint, scale: &Scale) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for list in lists(scale) {
        figures.push(list.measure(host, direct).await?);
    }
    Ok(figures)
}

fn lists(scale: &Scale) -> [List; 5] {
    let plain = Wanted::default();
    let (few, many) = (scale.runs, 3 * scale.runs);
    let list = |name, path: String, wanted, runs, target| List { name, path, wanted, runs, target };
    [
        list("list_all_json", ALL.into(), plain, few, Some(8.0)),
        list("list_all_json_gzip", ALL.into(), Wanted { gzip: true, ..plain }, few, Some(3.0)),
        list("list_page_json", format!("{ALL}?limit=500"), plain, many, None),
        list("list_page_table", format!("{ALL}?limit=500"), Wanted { accept: Some(TABLE), ..plain }, many, Some(5.0)),
        list("list_selector", format!("{ALL}?labelSelector={}", CANARY.replace('=', "%3D")), plain, many, Some(10.0)),
    ]
}

// === impl List ===

impl List {
    async fn measure(self, host: &Endpoint, direct: &Endpoint) -> Result<Figure> {
        let (host, direct) = (host.connect().await?, direct.connect().await?);
        let (mut through_host, mut past_it) = (Vec::new(), Vec::new());
        let (mut host_bytes, mut direct_bytes) = (0, 0);
        // The first of each warms up.
        for run in 0..=self.runs {
            let read = host.count(&self.path, self.wanted).await?;
            let beside = direct.count(&self.path, self.wanted).await?;
            (host_bytes, direct_bytes) = (read.bytes, beside.bytes);
            if run > 0 {
                through_host.push(read.ms);
                past_it.push(beside.ms);
            }
        }
        let (through_host, past_it) = (median(&through_host), median(&past_it));
        say(&format!(
            "reads: {}: host {through_host:.2} ms of {host_bytes} bytes, direct {past_it:.2} ms of {direct_bytes} bytes, {} runs",
            self.name, self.runs
        ));
        self.check(host_bytes, direct_bytes)?;
        if self.name == "list_all_json" {
            self.ceiling(host_bytes, past_it).await?;
        }
        Ok(Figure::beside(self.name, through_host, past_it, Target::Faster(self.target)))
    }

    /// The stamp makes the host's answer a little longer, and compressors differ; a list that misses objects is shorter.
    fn check(&self, host_bytes: usize, direct_bytes: usize) -> Result<()> {
        let slack = if self.wanted.gzip { 0.5 } else { 0.05 };
        let off = (host_bytes as f64 / direct_bytes as f64 - 1.0).abs();
        if off > slack {
            bail!(
                "{}: the host sent {host_bytes} bytes and the API server {direct_bytes}: not the same list",
                self.name
            );
        }
        Ok(())
    }

    async fn ceiling(&self, bytes: usize, direct: f64) -> Result<()> {
        let bare = ceiling::start(bytes).await?.connect().await?;
        let mut times = Vec::new();
        for run in 0..=self.runs {
            let read = bare.count("/", self.wanted).await?;
            if run > 0 {
                times.push(read.ms);
            }
        }
        let ms = median(&times);
        say(&format!(
            "reads: ceiling: a bare TLS server sends {bytes} bytes in {ms:.2} ms: {:.2} x direct",
            direct / ms
        ));
        Ok(())
    }
}
