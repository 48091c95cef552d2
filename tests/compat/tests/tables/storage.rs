//! Volumes, claims, classes and drivers.

use anyhow::Result;
use serde_json::json;

use super::Maker;

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    volumes(at)?;
    claims(at)?;
    classes(at)?;
    drivers(at)
}

fn volumes(at: &Maker<'_>) -> Result<()> {
    let path = "/api/v1/persistentvolumes";
    let modes = json!(["ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany"]);
    let annotated = json!({"annotations": {"volume.beta.kubernetes.io/storage-class": "from-annotation"}});
    let spec = |size: &str| json!({"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/v"}});
    let claim = json!({"namespace": "default", "name": "bound", "apiVersion": "v1", "kind": "PersistentVolumeClaim"});
    at.all(path, "PersistentVolume", &[
        ("fresh", json!({"spec": spec("5Gi")})),
        (
            "bound",
            json!({"spec": {"capacity": {"storage": "1536Mi"}, "accessModes": modes, "claimRef": claim, "volumeMode": "Block",
                "storageClassName": "fast", "persistentVolumeReclaimPolicy": "Delete", "volumeAttributesClassName": "gold",
                "csi": {"driver": "example.com", "volumeHandle": "h"}}, "status": {"phase": "Bound"}}),
        ),
        ("failed", json!({"metadata": annotated, "spec": spec("1000000000"), "status": {"phase": "Failed", "reason": "Broken"}})),
        ("going", json!({"spec": spec("0.5Gi"), "status": {"phase": "Released"}})),
    ])?;
    at.delete(&format!("{path}/going"))
}

fn claims(at: &Maker<'_>) -> Result<()> {
    let path = "/api/v1/namespaces/default/persistentvolumeclaims";
    let wants = json!({"requests": {"storage": "2Gi"}});
    let status = json!({"phase": "Bound", "capacity": {"storage": "3Gi"}, "accessModes": ["ReadWriteOncePod"]});
    let annotated = json!({"annotations": {"volume.beta.kubernetes.io/storage-class": "from-annotation"}});
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": wants});
    at.all(path, "PersistentVolumeClaim", &[
        ("fresh", json!({"spec": spec})),
        (
            "bound",
            json!({"spec": {"accessModes": ["ReadWriteOncePod"], "resources": wants, "volumeName": "bound",
                "storageClassName": "fast", "volumeMode": "Block", "volumeAttributesClassName": "gold"}, "status": status}),
        ),
        ("named", json!({"spec": {"accessModes": ["ReadOnlyMany"], "resources": wants, "volumeName": "v", "storageClassName": ""}})),
        ("annotated", json!({"metadata": annotated, "spec": spec, "status": {"phase": "Lost"}})),
        ("going", json!({"spec": spec})),
    ])?;
    at.delete(&format!("{path}/going"))
}

/// Two that say that they are the default: as they are made within a second or not, another of them is.
fn classes(at: &Maker<'_>) -> Result<()> {
    let default = |group: &str| json!({"annotations": {format!("{group}/is-default-class"): "true"}});
    at.all(
        "/apis/storage.k8s.io/v1/storageclasses",
        "StorageClass",
        &[
            ("plain", json!({"provisioner": "example.com/a"})),
            ("z-default", json!({"metadata": default("storageclass.kubernetes.io"), "provisioner": "example.com/a"})),
            (
                "a-default",
                json!({"metadata": default("storageclass.beta.kubernetes.io"), "provisioner": "example.com/a",
                "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer", "allowVolumeExpansion": true}),
            ),
        ],
    )?;
    at.all(
        "/apis/storage.k8s.io/v1/volumeattributesclasses",
        "VolumeAttributesClass",
        &[("gold", json!({"driverName": "example.com", "parameters": {"iops": "9"}}))],
    )
}

fn drivers(at: &Maker<'_>) -> Result<()> {
    let full = json!({"attachRequired": false, "podInfoOnMount": true, "storageCapacity": true, "requiresRepublish": true,
        "tokenRequests": [{"audience": ""}, {"audience": "vault"}], "volumeLifecycleModes": ["Persistent", "Ephemeral"]});
    at.all(
        "/apis/storage.k8s.io/v1/csidrivers",
        "CSIDriver",
        &[("plain.example.com", json!({"spec": {}})), ("full.example.com", json!({"spec": full}))],
    )?;
    at.all(
        "/apis/storage.k8s.io/v1/csinodes",
        "CSINode",
        &[
            ("none", json!({"spec": {"drivers": []}})),
            ("two", json!({"spec": {"drivers": [{"name": "a", "nodeID": "n"}, {"name": "b", "nodeID": "n"}]}})),
        ],
    )?;
    at.all(
        "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
        "CSIStorageCapacity",
        &[("some", json!({"storageClassName": "fast", "capacity": "5Gi"}))],
    )?;
    let spec = |source| json!({"attacher": "example.com", "nodeName": "ready", "source": source});
    at.all(
        "/apis/storage.k8s.io/v1/volumeattachments",
        "VolumeAttachment",
        &[
            ("waits", json!({"spec": spec(json!({"persistentVolumeName": "bound"}))})),
            ("done", json!({"spec": spec(json!({"persistentVolumeName": "bound"})), "status": {"attached": true}})),
            (
                "inline",
                json!({"spec": spec(json!({"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"],
                "csi": {"driver": "example.com", "volumeHandle": "h"}}}))}),
            ),
        ],
    )
}
