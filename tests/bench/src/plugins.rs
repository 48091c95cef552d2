//! What a decision costs whose clusters are scored by a built-in stage, by a component of Rust and by a rule in CEL; how soon
//! an edit serves; what a hostile neighbour costs the others; and what lists and watches by a virtual label cost.

mod selectors;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use orrery_api::extension::{ExtensionKind, ExtensionName};
use orrery_api::placement::{Candidate, Free, Policy, Unit};
use orrery_api::status::ExtensionState;
use orrery_api::{ClusterName, Gvr};
use orrery_extensions::{Extensions, Metrics, Policies, Registry};
use orrery_harness::repository;
use orrery_placement::{Pipeline, decide};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::report::{Figure, Outcome, Target, median, percentile};
use crate::say;

const RUST_TARGET: f64 = 4.0;
const CEL_TARGET: f64 = 8.0;
const RELOAD_CACHED_S: f64 = 1.0;
const RELOAD_CEL_S: f64 = 0.3;
const NEIGHBOUR: f64 = 1.1;

/// Longest wait for an extension to serve.
const LOADED: Duration = Duration::from_secs(120);

const RULE: &str = "cluster.labels.tier == 'gold' ? 100 + cluster.free.cpuMilli / 1000 : cluster.free.cpuMilli / 1000";

/// A host's extensions without the host.
struct Bench {
    folder: TempDir,
    _data: TempDir,
    policies: Policies,
    stop: CancellationToken,
}

/// Measures all.
pub(crate) async fn run(quick: bool) -> Result<Outcome> {
    let calls = if quick { 20 } else { 300 };
    let bench = Arc::new(Bench::start().await?);
    let mut outcome = Outcome::default();
    outcome.add("scoring", bench.scoring(calls).await);
    outcome.add("reload", bench.reload(if quick { 2 } else { 10 }).await);
    outcome.add("neighbour", bench.neighbour(calls).await);
    bench.stop.cancel();
    outcome.add("selectors", selectors::run(quick).await);
    Ok(outcome)
}

// === impl Bench ===

impl Bench {
    async fn start() -> Result<Self> {
        let (folder, data) = (tempfile::tempdir()?, tempfile::tempdir()?);
        fs::copy(repository().join("plugins/example-scorer/example-scorer.wasm"), folder.path().join("scorer.wasm"))?;
        write(folder.path(), "plugin.yaml", &plugin(0))?;
        write(folder.path(), "rule.yaml", &rule(0))?;
        write(folder.path(), "hostile.yaml", HOSTILE)?;
        let registry = Registry::start(Some(data.path()), Metrics::default());
        let registry = registry.map_err(|error| anyhow::anyhow!("no WebAssembly here: {error:#}"))?;
        let extensions = Extensions::open(folder.path(), registry, Metrics::default())?;
        let (policies, stop) = (extensions.policies(), CancellationToken::new());
        tokio::spawn(extensions.follow(stop.clone()));
        let bench = Self { folder, _data: data, policies, stop };
        for name in [
            named(ExtensionKind::Plugin, "scorer")?,
            named(ExtensionKind::CelPolicy, "rule")?,
            named(ExtensionKind::CelPolicy, "hostile")?,
        ] {
            bench.serves_after(&name, 0).await?;
        }
        Ok(bench)
    }

    /// Waits until a generation after `number` serves; its number.
    async fn serves_after(&self, name: &ExtensionName, number: u64) -> Result<u64> {
        let registry = self.policies.registry().context("there are extensions")?;
        let begun = Instant::now();
        while begun.elapsed() < LOADED {
            let status = registry.status(name).with_context(|| format!("there is no {name}"))?;
            match (&status.generation, status.state) {
                (Some(generation), ExtensionState::Serving) if generation.number > number => {
                    return Ok(generation.number);
                }
                (_, ExtensionState::Failed) => bail!("{name} does not serve: {:?}", status.refusal),
                _ => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
        bail!("{name} did not serve within {} s", LOADED.as_secs())
    }

    /// How long each of `calls` decisions takes by `stages`, in milliseconds.
    async fn decisions(&self, stages: &str, clusters: usize, calls: usize) -> Result<Vec<f64>> {
        let text = format!(
            "apiVersion: orrery.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {{name: bench}}\nspec: {{stages: [{stages}]}}\n"
        );
        let policy = Policy::parse(&text)?.remove(0);
        let pipeline = Pipeline::of(&policy, |stage| self.policies.stage(stage));
        let (unit, fleet) = (unit(), fleet(clusters)?);
        let mut took = Vec::with_capacity(calls);
        for _ in 0..calls {
            let begun = Instant::now();
            let decision = decide(&unit, &fleet, &pipeline, 0).await;
            took.push(begun.elapsed().as_secs_f64() * 1e3);
            decision.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        }
        Ok(took)
    }

    async fn scoring(&self, calls: usize) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for clusters in [10, 100, 1000] {
            let native = median(&self.decisions("{stage: freeCapacity}", clusters, calls).await?);
            let rust = median(&self.decisions("{stage: score, plugin: scorer}", clusters, calls).await?);
            let cel = median(&self.decisions("{stage: score, celPolicy: rule}", clusters, calls).await?);
            say(&format!("scoring {clusters} clusters: built in {native:.3} ms, Rust {rust:.3} ms, CEL {cel:.3} ms"));
            if clusters == 1000 {
                figures.push(Figure::beside("score_rust_1000", rust, native, Target::Dearer(RUST_TARGET)));
                figures.push(Figure::beside("score_cel_1000", cel, native, Target::Dearer(CEL_TARGET)));
            }
        }
        Ok(figures)
    }

    /// From the edit of a file to the generation that serves it; machine code is kept, so nothing is compiled.
    async fn reload(&self, times: usize) -> Result<Vec<Figure>> {
        let scorer = named(ExtensionKind::Plugin, "scorer")?;
        let cached = self.reloads(&scorer, "plugin.yaml", plugin, times).await?;
        let cel = self.reloads(&named(ExtensionKind::CelPolicy, "rule")?, "rule.yaml", rule, times).await?;
        Ok(vec![
            Figure::at_most("reload_cached", "s", median(&cached), Some(RELOAD_CACHED_S)),
            Figure::at_most("reload_cel", "s", median(&cel), Some(RELOAD_CEL_S)),
        ])
    }

    async fn reloads(
        &self,
        name: &ExtensionName,
        file: &str,
        text: fn(usize) -> String,
        times: usize,
    ) -> Result<Vec<f64>> {
        let mut took = Vec::with_capacity(times);
        let mut number = self.serves_after(name, 0).await?;
        for edit in 1..=times {
            let begun = Instant::now();
            write(self.folder.path(), file, &text(edit))?;
            number = self.serves_after(name, number).await?;
            took.push(begun.elapsed().as_secs_f64());
        }
        Ok(took)
    }

    /// A rule alone, and while another one computes without end as often as it may.
    async fn neighbour(self: &Arc<Self>, calls: usize) -> Result<Vec<Figure>> {
        let rule =
            |bench: Arc<Self>| async move { bench.decisions("{stage: score, celPolicy: rule}", 100, calls).await };
        // Each is a task of its own, as each request of a host is.
        let alone = percentile(&tokio::spawn(rule(self.clone())).await??, 99);
        let (done, bench) = (CancellationToken::new(), self.clone());
        let harm = tokio::spawn({
            let done = done.clone();
            async move {
                while !done.is_cancelled() {
                    let failed = bench.decisions("{stage: filter, celPolicy: hostile}", 3, 1).await;
                    ensure!(failed.is_err(), "what computes without end was answered");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Ok(())
            }
        });
        let beside = tokio::spawn(rule(self.clone())).await?;
        done.cancel();
        harm.await??;
        let beside = percentile(&beside?, 99);
        Ok(vec![Figure::beside("neighbour_p99", beside, alone, Target::Dearer(NEIGHBOUR))])
    }
}

/// Runs out of fuel on every cluster.
const HOSTILE: &str = "
apiVersion: orrery.dev/v1alpha1
kind: CelPolicy
metadata: {name: hostile}
spec:
  target: {stage: filter}
  limits: {fuel: 100000000}
  expressions:
  - name: endless
    expression: '[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d,
      [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, [1,2,3,4,5,6,7,8,9].all(g, a + b + c + d + e + f + g > 0)))))))'
";

fn plugin(edit: usize) -> String {
    format!(
        "apiVersion: orrery.dev/v1alpha1\nkind: Plugin\nmetadata: {{name: scorer}}\nspec:\n  component: {{path: scorer.wasm}}\n  \
         params: {{label: tier, weights: {{gold: {}}}, cpuWeight: 1}}\n",
        100 + edit
    )
}

fn rule(edit: usize) -> String {
    format!(
        "apiVersion: orrery.dev/v1alpha1\nkind: CelPolicy\nmetadata: {{name: rule}}\nspec:\n  target: {{stage: score}}\n  params: \
         {{edit: {edit}}}\n  expressions:\n  - {{name: gold, expression: \"{RULE}\"}}\n"
    )
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    fs::write(folder.join(".new"), text)?;
    Ok(fs::rename(folder.join(".new"), folder.join(name))?)
}

fn named(kind: ExtensionKind, name: &str) -> Result<ExtensionName> {
    Ok(ExtensionName::new(kind, name)?)
}

fn unit() -> Unit {
    let pod = json!({"containers": [{"resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}]});
    let object = json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"replicas": 3, "template": {"spec": pod}}});
    Unit::read(Gvr::new("apps", "v1", "deployments"), "shop", &object)
}

/// Clusters with ten labels each.
fn fleet(clusters: usize) -> Result<Vec<Candidate>> {
    let cluster = |at: usize| -> Result<Candidate> {
        let labels: String = (0..8).map(|label| format!("key-{label}: value-{at}, ")).collect();
        let tier = if at.is_multiple_of(3) { "gold" } else { "silver" };
        let attributes = format!("{{labels: {{{labels}region: eu-{}, tier: {tier}}}}}", at % 7);
        let free = Free { cpu_milli: Some(64_000 + at as u64), memory_bytes: Some(1 << 40), pods: Some(1000) };
        Ok(Candidate {
            attributes: Arc::new(serde_saphyr::from_str(&attributes)?),
            version: "v1.37.0".to_owned(),
            lag_ms: Some(5),
            capacity: free,
            allocatable: free,
            free,
            ..Candidate::named(ClusterName::new(&format!("cluster-{at}"))?)
        })
    };
    (0..clusters).map(cluster).collect()
}
