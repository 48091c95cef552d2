use std::collections::BTreeMap;

use serde_json::Value;

use super::quantity::{milli, whole};
use super::taint::read_tolerations;
use super::{QuantityError, Resources, Toleration};
use crate::GroupResource;

/// The pods that an object is, or makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSet {
    /// How many. 1 for a pod, and for a DaemonSet, whose number the nodes decide.
    pub replicas: u64,
    /// What one of them asks for; or why that cannot be read.
    pub requests: Result<Resources, QuantityError>,
    /// What they tolerate.
    pub tolerations: Vec<Toleration>,
    /// Labels of the nodes that they may run on.
    pub node_selector: BTreeMap<String, String>,
}

// === impl PodSet ===

impl PodSet {
    /// The pods of an object of `resource`; `None` where that makes no pods, or the object does not say which.
    pub(super) fn read(resource: &GroupResource, object: &Value) -> Option<Self> {
        let spec = &object["spec"];
        let (replicas, pod) = match (&*resource.group, &*resource.resource) {
            ("", "pods") => (1, spec),
            ("", "replicationcontrollers") | ("apps", "deployments" | "statefulsets" | "replicasets") => {
                (spec["replicas"].as_u64().unwrap_or(1), &spec["template"]["spec"])
            }
            ("apps", "daemonsets") => (1, &spec["template"]["spec"]),
            ("batch", "jobs") => of_job(spec),
            ("batch", "cronjobs") => of_job(&spec["jobTemplate"]["spec"]),
            _ => return None,
        };
        pod.is_object().then(|| Self {
            replicas,
            requests: pod_requests(pod),
            tolerations: read_tolerations(&pod["tolerations"]),
            node_selector: read_texts(&pod["nodeSelector"]),
        })
    }
}

/// What one pod asks for, by its `spec`, as upstream's `PodRequests` (component-helpers, resource/helpers.go): the sum of
/// its containers, or the most that starting it takes at a time, or what is asked for the pod as a whole; and its overhead.
/// A limit without a request is one, as the API server's defaults make it.
///
/// # Errors
/// The first amount that is no quantity.
pub fn pod_requests(spec: &Value) -> Result<Resources, QuantityError> {
    let mut running = Resources::default();
    for container in list(&spec["containers"]) {
        running = running + requests(&container["resources"])?;
    }
    let (mut sidecars, mut starting) = (Resources::default(), Resources::default());
    for container in list(&spec["initContainers"]) {
        let own = requests(&container["resources"])?;
        starting = starting.max(sidecars + own);
        // One that is restarted goes on beside those after it (KEP-753).
        if container["restartPolicy"] == "Always" {
            running = running + own;
            sidecars = sidecars + own;
        }
    }
    let containers = running.max(starting);
    let whole = &spec["resources"];
    let of_pod = Resources {
        cpu_milli: cpu(whole)?.unwrap_or(containers.cpu_milli),
        memory_bytes: memory(whole)?.unwrap_or(containers.memory_bytes),
    };
    Ok(of_pod + amounts("overhead", &spec["overhead"])?)
}

/// Pods that a job runs at a time: no more than it has to complete.
fn of_job(spec: &Value) -> (u64, &Value) {
    let parallelism = spec["parallelism"].as_u64().unwrap_or(1);
    let completions = spec["completions"].as_u64().unwrap_or(parallelism);
    (parallelism.min(completions), &spec["template"]["spec"])
}

fn requests(resources: &Value) -> Result<Resources, QuantityError> {
    Ok(Resources { cpu_milli: cpu(resources)?.unwrap_or(0), memory_bytes: memory(resources)?.unwrap_or(0) })
}

fn cpu(resources: &Value) -> Result<Option<u64>, QuantityError> {
    asked(resources, "cpu").map(|cpu| milli("requests.cpu", cpu)).transpose()
}

fn memory(resources: &Value) -> Result<Option<u64>, QuantityError> {
    asked(resources, "memory").map(|memory| whole("requests.memory", memory)).transpose()
}

fn asked<'v>(resources: &'v Value, name: &str) -> Option<&'v Value> {
    let of = |kind: &str| resources[kind].get(name);
    of("requests").or_else(|| of("limits"))
}

fn amounts(what: &str, amounts: &Value) -> Result<Resources, QuantityError> {
    let cpu = amounts.get("cpu").map(|cpu| milli(&format!("{what}.cpu"), cpu)).transpose()?;
    let memory = amounts.get("memory").map(|memory| whole(&format!("{what}.memory"), memory)).transpose()?;
    Ok(Resources { cpu_milli: cpu.unwrap_or(0), memory_bytes: memory.unwrap_or(0) })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The entries of `map` that are texts.
pub(super) fn read_texts(map: &Value) -> BTreeMap<String, String> {
    let entries = map.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container(cpu: &str, memory: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu, "memory": memory}}})
    }

    fn sidecar(cpu: &str, memory: &str) -> Value {
        let mut container = container(cpu, memory);
        container["restartPolicy"] = json!("Always");
        container
    }

    fn asked_by(spec: &Value) -> (u64, u64) {
        let requests = pod_requests(spec).unwrap();
        (requests.cpu_milli, requests.memory_bytes >> 20)
    }

    #[test]
    fn a_pod_asks_for_what_its_containers_do_or_its_start_takes() {
        let two = json!([container("100m", "64Mi"), container("200m", "64Mi")]);
        assert_eq!(asked_by(&json!({"containers": two})), (300, 128));
        let start = json!([container("1", "16Mi")]);
        assert_eq!(asked_by(&json!({"containers": two, "initContainers": start})), (1000, 128));
        let start = json!([sidecar("50m", "8Mi"), container("1", "16Mi"), sidecar("50m", "8Mi")]);
        assert_eq!(asked_by(&json!({"containers": two, "initContainers": start})), (1050, 144));
    }

    #[test]
    fn a_limit_stands_for_a_request_and_the_pod_as_a_whole_for_its_containers() {
        let limited = json!([{"resources": {"limits": {"cpu": "2"}, "requests": {"memory": "1Mi"}}}]);
        assert_eq!(asked_by(&json!({"containers": limited})), (2000, 1));
        let whole = json!({"requests": {"cpu": "3"}});
        let overhead = json!({"cpu": "250m", "memory": "1Mi"});
        assert_eq!(asked_by(&json!({"containers": limited, "resources": whole, "overhead": overhead})), (3250, 2));
        assert_eq!(asked_by(&json!({"containers": [{"name": "c"}]})), (0, 0));
    }

    #[test]
    fn an_amount_that_is_no_quantity_is_an_error() {
        let error = pod_requests(&json!({"containers": [container("lots", "1")]})).unwrap_err().to_string();
        assert!(error.starts_with("requests.cpu is \"lots\""), "{error}");
    }

    #[test]
    fn pods_are_found_where_each_kind_has_them() {
        let pod = json!({"containers": [container("1", "1Mi")], "nodeSelector": {"disk": "ssd"}});
        let template = json!({"spec": pod});
        let replicas = |resource: &str, spec: Value| {
            PodSet::read(&resource.parse().unwrap(), &json!({"spec": spec})).map(|pods| {
                assert_eq!(pods.requests.unwrap().cpu_milli, 1000, "{resource}");
                assert_eq!(pods.node_selector["disk"], "ssd");
                pods.replicas
            })
        };
        assert_eq!(replicas("pods", pod.clone()), Some(1));
        assert_eq!(replicas("deployments.apps", json!({"template": template})), Some(1));
        assert_eq!(replicas("statefulsets.apps", json!({"replicas": 3, "template": template})), Some(3));
        assert_eq!(replicas("replicationcontrollers", json!({"replicas": 0, "template": template})), Some(0));
        assert_eq!(replicas("daemonsets.apps", json!({"template": template})), Some(1));
        let job = json!({"parallelism": 5, "completions": 2, "template": template});
        assert_eq!(replicas("jobs.batch", job.clone()), Some(2));
        assert_eq!(replicas("cronjobs.batch", json!({"jobTemplate": {"spec": job}})), Some(2));
        assert_eq!(replicas("deployments.apps", json!({})), None);
        assert_eq!(replicas("services", pod), None);
    }
}
