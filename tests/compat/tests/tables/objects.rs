//! Objects in states that a printer may get wrong.

mod access;
mod batch;
mod control;
mod core;
mod custom;
mod devices;
mod limits;
mod networking;
mod pods;
mod storage;
mod workloads;

use std::cell::RefCell;
use std::collections::BTreeSet;

use anyhow::{Context, Result};
use orrery_harness::Client;
use serde_json::{Value, json};

/// Makes them all, and gives the lists that they are in.
pub(crate) fn make(client: &Client) -> Result<BTreeSet<String>> {
    let at = Maker { client, lists: RefCell::default() };
    pods::make(&at)?;
    core::make(&at)?;
    workloads::make(&at)?;
    batch::make(&at)?;
    networking::make(&at)?;
    storage::make(&at)?;
    access::make(&at)?;
    limits::make(&at)?;
    control::make(&at)?;
    devices::make(&at)?;
    custom::make(&at)?;
    at.also("/apis/events.k8s.io/v1/events");
    Ok(at.lists.into_inner())
}

struct Maker<'c> {
    client: &'c Client,
    lists: RefCell<BTreeSet<String>>,
}

impl Maker<'_> {
    /// Makes an object of `kind` in the list at `path` for each name, with these fields; `status` is written after it.
    fn all(&self, path: &str, kind: &str, objects: &[(&str, Value)]) -> Result<()> {
        let parts: Vec<_> = path.split('/').collect();
        let version = if parts[1] == "api" { parts[2].to_owned() } else { format!("{}/{}", parts[2], parts[3]) };
        for (name, fields) in objects {
            let mut object = fields.clone();
            let status = object.as_object_mut().and_then(|fields| fields.remove("status"));
            object["apiVersion"] = json!(version);
            object["kind"] = json!(kind);
            object["metadata"]["name"] = json!(name);
            self.put(path, &object, &status.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Makes `object` in the list at `path`, then gives it `status` where that is not null.
    fn put(&self, path: &str, object: &Value, status: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().context("an object has a name")?;
        self.also(path);
        self.client.create(path, object).with_context(|| format!("making {path}/{name}"))?;
        if status.is_null() {
            return Ok(());
        }
        self.patch(&format!("{path}/{name}/status"), &json!({ "status": status }))
    }

    fn patch(&self, path: &str, patch: &Value) -> Result<()> {
        let headers = [("Content-Type", "application/merge-patch+json")];
        let answer = self.client.send("PATCH", path, &headers, patch.to_string().as_bytes())?;
        answer.success().with_context(|| format!("patching {path}")).map(drop)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.client.send("DELETE", path, &[], b"")?.success().with_context(|| format!("deleting {path}")).map(drop)
    }

    /// Compares the list at `path` too, over all namespaces.
    fn also(&self, path: &str) {
        let mut list = path.to_owned();
        if let Some((root, rest)) = path.split_once("/namespaces/")
            && let Some((_, resource)) = rest.split_once('/')
        {
            list = format!("{root}/{resource}");
        }
        self.lists.borrow_mut().insert(list);
    }
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason})
}
