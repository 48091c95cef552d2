//! The pods of the bench: those of Deployments, with the environment, volumes, probes and conditions that pods in the
//! field have, so that one is about 8.5 KB of JSON with the managedFields that the API server adds.

use serde_json::{Value, json};

/// The pods in one namespace.
pub(crate) const PER_NAMESPACE: usize = 10;
/// The annotation that each write changes: its number, in twelve digits, so that no pod grows.
pub(crate) const WRITE: &str = "bench.orrery.dev/write";
/// The label that one pod in fifty has.
pub(crate) const CANARY: &str = "track=canary";

/// Raised when the pods change, so that clusters with others are not used again.
pub(crate) const EDITION: u32 = 1;

const WRITE_DIGITS: usize = 12;

/// A pod by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pod(pub(crate) usize);

// === impl Pod ===

impl Pod {
    pub(crate) fn namespace(self) -> String {
        format!("team-{:04}", self.0 / PER_NAMESPACE)
    }

    pub(crate) fn name(self) -> String {
        format!("checkout-6f9c7d84b-{:05}", self.0)
    }

    pub(crate) fn path(self) -> String {
        format!("{}/{}", self.collection(), self.name())
    }

    pub(crate) fn collection(self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace())
    }

    /// The merge patch of the write with this number.
    pub(crate) fn patch(write: u64) -> String {
        format!(r#"{{"metadata":{{"annotations":{{"{WRITE}":"{write:0WRITE_DIGITS$}"}}}}}}"#)
    }

    /// What is created.
    pub(crate) fn json(self) -> Value {
        let track = if self.0 % 50 == 7 { "canary" } else { "stable" };
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.name(),
                "namespace": self.namespace(),
                "labels": {
                    "app.kubernetes.io/name": "checkout",
                    "app.kubernetes.io/instance": format!("checkout-{}", self.namespace()),
                    "app.kubernetes.io/version": "2.41.3",
                    "pod-template-hash": "6f9c7d84b",
                    "track": track,
                },
                "annotations": {
                    "bench.orrery.dev/write": "000000000000",
                    "prometheus.io/scrape": "true",
                    "prometheus.io/port": "9102",
                    "checksum/config": "6b0f2d1fd5d1c1e1a8f0a5f1b5a8a4b6f6f50c64f5bd8f1b2c6d1f0b7a9a3a51",
                },
                "ownerReferences": [{
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "checkout-6f9c7d84b",
                    "uid": format!("5a1e8f5c-52b0-4c8e-9f43-{:012}", self.0 / PER_NAMESPACE),
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "nodeName": format!("node-{}", self.0 % 200),
                "serviceAccountName": "checkout",
                "terminationGracePeriodSeconds": 45,
                "securityContext": {"runAsNonRoot": true, "runAsUser": 10001},
                "containers": [application(), proxy()],
                "volumes": volumes(),
            },
        })
    }

    /// The merge patch of its status, as a kubelet would write it.
    pub(crate) fn status(self) -> Value {
        let at = "2026-11-30T08:00:00Z";
        let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at});
        let ip = format!("10.{}.{}.{}", self.0 >> 16, (self.0 >> 8) & 255, self.0 & 255);
        let container = |name: &str| {
            json!({
                "name": name,
                "image": format!("images.example.com/shop/{name}:2.41.3"),
                "imageID": "sha256:9b0f2d1fd5d1c1e1a8f0a5f1b5a8a4b6f6f50c64f5bd8f1b2c6d1f0b7a9a3a51",
                "containerID": format!("containerd://5d1fd5d1c1e1a8f0a5f1b5a8a4b6f6f50c64f5bd8f1b2c6d1{:011}", self.0),
                "ready": true,
                "started": true,
                "restartCount": 0,
                "state": {"running": {"startedAt": at}},
            })
        };
        let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"];
        json!({"status": {
            "phase": "Running",
            "hostIP": "192.0.2.1",
            "podIP": ip,
            "podIPs": [{"ip": ip}],
            "startTime": at,
            "conditions": conditions.map(condition),
            "containerStatuses": [container("checkout"), container("proxy")],
        }})
    }
}

fn application() -> Value {
    let settings = (0..3).map(|number| {
        let name = format!("CHECKOUT_SETTING_{number:02}");
        json!({"name": name, "value": format!("https://service-{number}.shop.svc.cluster.local:8443/v2")})
    });
    let secret = json!({"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "checkout", "key": "password"}}});
    let own = json!({"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}});
    json!({
        "name": "checkout",
        "image": "images.example.com/shop/checkout:2.41.3",
        "args": ["serve", "--listen=:8080", "--metrics=:9102", "--config=/etc/checkout/config.yaml"],
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9102}],
        "env": settings.chain([secret, own]).collect::<Vec<_>>(),
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/checkout", "readOnly": true},
            {"name": "certificates", "mountPath": "/etc/certificates", "readOnly": true},
            {"name": "scratch", "mountPath": "/tmp"},
        ],
    })
}

fn proxy() -> Value {
    json!({
        "name": "proxy",
        "image": "images.example.com/mesh/proxy:1.30.1",
        "ports": [{"name": "mesh", "containerPort": 15006}],
        "env": [{"name": "MESH_ID", "value": "shop.example.com"}, {"name": "LOG_LEVEL", "value": "warning"}],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
        "volumeMounts": [{"name": "certificates", "mountPath": "/etc/certificates", "readOnly": true}],
    })
}

fn volumes() -> Value {
    json!([
        {"name": "config", "configMap": {"name": "checkout-config"}},
        {"name": "certificates", "projected": {"sources": [
            {"secret": {"name": "checkout-certificate"}},
            {"configMap": {"name": "authorities", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        ]}},
        {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
    ])
}
