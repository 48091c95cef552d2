//! What a cache of pods costs: memory per pod at rest and after churn, time per change, time per list.
//!
//! `cargo run --release -p orrery-cache --example churn [PODS] [UPDATES]`; without arguments the figures of docs/performance.md:
//! 10,000 pods of 8.5 KB and 15,000 updates, as 50 a second are in 5 minutes. Time is fed, so this takes seconds. Memory is as the system's allocator has it.

use std::io::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_api::{ClusterName, Gvr, Naming, ObjectKey, Stamp, Uid};
use orrery_cache::{Apply, BaseObject, Budget, FieldTable, LabelSelector, Metrics, Reader, Selection, Shape, Writer};
use orrery_markers::{Digest, Marker, MemberObject, MemberVersion};

const UPDATES_PER_SECOND: u64 = 50;

fn main() -> std::io::Result<()> {
    let argument = |index, default| std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (pods, updates) = (argument(1, 10_000u64), argument(2, 15_000u64));
    let gvr = Gvr::new("", "v1", "pods");
    let fields = FieldTable::of(&gvr, true);
    let shape =
        Shape { gvr, kind: "Pod".into(), namespaced: true, stamp: Stamp::Label, naming: Naming::Unique, fields };
    let (mut writer, reader) = orrery_cache::resource(shape, &Budget::new(1 << 34), &Metrics::default());
    let mut out = std::io::stdout().lock();

    let before = resident_bytes();
    let begun = Instant::now();
    writer.begin(base(pods), vec![], marker(pods));
    let took = begun.elapsed();
    writeln!(out, "body: {} bytes", pod(0, 0).len())?;
    writeln!(out, "begin: {} a second", per_second(pods, took))?;
    writeln!(out, "at rest: {} bytes a pod", (resident_bytes() - before) / pods)?;

    let (applying, settling) = churn(&mut writer, &reader, pods, updates);
    writeln!(out, "apply: {} a second", per_second(updates, applying))?;
    writeln!(out, "settle: {} a second", per_second(updates, settling))?;
    writeln!(out, "after churn: {} bytes a pod", (resident_bytes() - before) / pods)?;
    writeln!(out, "{:?}", reader.stats())?;
    reads(&reader, updates, &mut out)
}

/// Bodies are slices of pages of a list, as they come from a member.
fn base(pods: u64) -> Vec<BaseObject> {
    let indexes: Vec<u64> = (0..pods).collect();
    let page = |indexes: &[u64]| {
        let bodies: Vec<_> = indexes.iter().map(|index| pod(*index, 0)).collect();
        let page = Bytes::from(bodies.concat());
        let mut start = 0;
        let one = |(index, body): (&u64, &String)| {
            start += body.len();
            let object = MemberObject { body: page.slice(start - body.len()..start), ..object(*index, 0) };
            let (served, cluster) = (key(*index), cluster(*index));
            BaseObject { served, marker: marker(*index), cluster, object, holders: None }
        };
        indexes.iter().zip(&bodies).map(one).collect::<Vec<_>>()
    };
    indexes.chunks(500).flat_map(page).collect()
}

/// Time spent in changes, and in compressing.
fn churn(writer: &mut Writer, reader: &Reader, pods: u64, updates: u64) -> (Duration, Duration) {
    let (start, mut applying, mut settling) = (Instant::now(), Duration::ZERO, Duration::ZERO);
    for number in 0..updates {
        let index = number * 7919 % pods;
        let (served, cluster) = (key(index), cluster(index));
        let change = Apply::Put {
            marker: marker(pods + 1 + number),
            served,
            cluster,
            object: object(index, number + 1),
            holders: None,
        };
        let now = start + Duration::from_micros(number * 1_000_000 / UPDATES_PER_SECOND);
        let begun = Instant::now();
        writer.apply(vec![change], now);
        applying += begun.elapsed();
        if number.is_multiple_of(UPDATES_PER_SECOND) {
            let begun = Instant::now();
            reader.settle(now);
            settling += begun.elapsed();
        }
    }
    (applying, settling)
}

fn reads(reader: &Reader, updates: u64, out: &mut impl Write) -> std::io::Result<()> {
    let mut all = Vec::with_capacity(200 << 20);
    for _ in 0..2 {
        all.clear();
        let begun = Instant::now();
        reader.latest().range(None, None).for_each(|object| object.list_item().write_to(&mut all));
        writeln!(out, "list all: {} bytes in {:?}", all.len(), begun.elapsed())?;
    }
    let labels = LabelSelector::parse("app=app-7").expect("is a selector");
    let selection = Selection { labels, ..Selection::everything() };
    let begun = Instant::now();
    let snapshot = reader.latest();
    let selected = snapshot.range(None, None).filter(|object| selection.selects(object)).count();
    writeln!(out, "list by label: {selected} of {} in {:?}", snapshot.len(), begun.elapsed())?;
    let back = Marker::new(reader.head().get() - updates.min(3000)).expect("is a marker");
    let begun = Instant::now();
    let exact = reader.at(back).expect("the ring reaches back");
    writeln!(out, "exact, 3000 events back: {} objects in {:?}", exact.len(), begun.elapsed())
}

fn object(index: u64, version: u64) -> MemberObject {
    MemberObject {
        key: key(index),
        uid: Uid::from_uuid(u128::from(index)),
        version: MemberVersion::from_number(version + 1),
        digest: Digest::from_bits(version),
        terminating: false,
        body: Bytes::from(pod(index, version)),
    }
}

fn key(index: u64) -> ObjectKey {
    ObjectKey::new(&format!("namespace-{}", index % 100), &format!("app-{}-7c5ddbdf54-{index:05}", index % 50))
}

fn cluster(index: u64) -> ClusterName {
    ClusterName::new(if index.is_multiple_of(2) { "east" } else { "west" }).expect("is a name")
}

/// A pod as kubelets write them: much of it repeats between pods, times and ids do not.
fn pod(index: u64, version: u64) -> String {
    let ObjectKey { namespace, name } = key(index);
    let app = index % 50;
    let ip = format!("10.{}.{}.{}", index / 65536, index / 256 % 256, index % 256);
    let time = format!(
        "2026-11-{:02}T{:02}:{:02}:{:02}Z",
        version / 86400 % 28 + 1,
        version / 3600 % 24,
        version / 60 % 60,
        version % 60
    );
    let uid = Uid::from_uuid(u128::from(index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let fields = |part: u64| {
        let field = |n| format!("\"f:field-{part}-{n}\":{{\".\":{{}},\"f:value\":{{}},\"f:type\":{{}}}}");
        (0..28).map(field).collect::<Vec<_>>().join(",")
    };
    let condition = |kind| {
        format!(
            r#"{{"type":"{kind}","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"{time}"}}"#
        )
    };
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .map(condition)
        .join(",");
    let environment = |n| format!(r#"{{"name":"SETTING_{n}","value":"value of setting {n} of application {app}"}}"#);
    let environment = (0..46).map(environment).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"metadata":{{"name":"{name}","generateName":"app-{app}-7c5ddbdf54-","namespace":"{namespace}","uid":"{uid}","resourceVersion":"{version}","creationTimestamp":"2026-11-01T00:00:00Z","labels":{{"app":"app-{app}","pod-template-hash":"7c5ddbdf54","tier":"backend"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app-{app}-7c5ddbdf54","uid":"{uid}","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{{}}}}},{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"{time}","fieldsType":"FieldsV1","fieldsV1":{{{}}},"subresource":"status"}}]}},"spec":{{"volumes":[{{"name":"kube-api-access-{index}","projected":{{"defaultMode":420}}}}],"containers":[{{"name":"app","image":"app-{app}:v{app}","env":[{environment}],"resources":{{"limits":{{"cpu":"500m","memory":"512Mi"}}}}}}],"restartPolicy":"Always","serviceAccountName":"default","nodeName":"node-{}","schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}]}},"status":{{"phase":"Running","conditions":[{conditions}],"hostIP":"10.0.0.1","podIP":"{ip}","podIPs":[{{"ip":"{ip}"}}],"startTime":"2026-11-01T00:00:00Z","containerStatuses":[{{"name":"app","state":{{"running":{{"startedAt":"{time}"}}}},"ready":true,"restartCount":{version},"image":"app-{app}:v{app}","containerID":"containerd://{uid}{uid}"}}],"qosClass":"Burstable"}}}}"#,
        fields(1),
        fields(2),
        index % 200
    )
}

fn per_second(count: u64, took: Duration) -> u64 {
    (count as f64 / took.as_secs_f64()) as u64
}

fn marker(number: u64) -> Marker {
    Marker::new(1_700_000_000_000_000 + number).expect("is a marker")
}

/// Resident memory of this process, in bytes.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1024
}
