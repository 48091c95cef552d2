//! Components in OCI registries: the one layer of WebAssembly of an artifact, which is named by the digest of its manifest.
//! What was fetched once is kept, so that a start needs no registry.

mod credentials;

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::TryStreamExt as _;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::manifest::{
    IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageManifest, WASM_LAYER_MEDIA_TYPE,
};
use oci_client::{Client, Reference};
use tokio::time::timeout;
use tracing::warn;

use crate::runtime::{BYTES_MAX, digest as digest_of};

/// Fetches components.
#[derive(Debug)]
pub(crate) struct Artifacts {
    /// Where they are kept.
    folder: Option<PathBuf>,
}

/// An artifact as a registry has it.
struct Artifact {
    manifest: Vec<u8>,
    layer: Vec<u8>,
}

/// How long a registry may take for all of it.
const FETCH_LIMIT: Duration = Duration::from_secs(60);

/// Largest manifest, in bytes (the distribution spec's own bound).
const MANIFEST_MAX: usize = 4 << 20;

/// Layers that are a component (the CNCF's media type of 2024, and the one before it).
const COMPONENT: [&str; 2] = ["application/wasm", WASM_LAYER_MEDIA_TYPE];

// === impl Artifacts ===

impl Artifacts {
    pub(crate) fn in_folder(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The component of the artifact at `reference` whose manifest has this `digest`.
    ///
    /// # Errors
    /// In words for people: it is not to be had, or is not what the digest says.
    pub(crate) async fn fetch(&self, reference: &str, digest: &str) -> Result<Vec<u8>, String> {
        if let Some(kept) = self.kept(digest) {
            return Ok(kept.layer);
        }
        let fetched = timeout(FETCH_LIMIT, pull(reference, digest)).await;
        let artifact = fetched.map_err(|_| format!("{reference}: not done within {} s", FETCH_LIMIT.as_secs()))??;
        self.keep(digest, &artifact);
        Ok(artifact.layer)
    }

    /// What was fetched before, if it is still what it was.
    fn kept(&self, digest: &str) -> Option<Artifact> {
        let path = self.path(digest)?;
        let artifact = Artifact {
            manifest: fs::read(path.with_extension("json")).ok()?,
            layer: fs::read(path.with_extension("wasm")).ok()?,
        };
        artifact.checked(digest).ok()
    }

    /// That it cannot be kept matters at the next start only.
    fn keep(&self, digest: &str, artifact: &Artifact) {
        let Some(path) = self.path(digest) else { return };
        let keep = || -> io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            fs::write(path.with_extension("wasm"), &artifact.layer)?;
            fs::write(path.with_extension("json"), &artifact.manifest)
        };
        if let Err(error) = keep() {
            warn!(%error, digest, "a component that was fetched cannot be kept for the next start");
        }
    }

    fn path(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:").filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        Some(self.folder.as_ref()?.join(hex))
    }
}

// === impl Artifact ===

impl Artifact {
    /// Itself, if `digest` is its manifest's, and the manifest names its layer.
    fn checked(self, digest: &str) -> Result<Self, String> {
        let found = digest_of(&self.manifest);
        if found != digest {
            return Err(format!("its manifest has the digest {found}, and {digest} is asked for"));
        }
        let named = component_of(&self.manifest)?.digest;
        let found = digest_of(&self.layer);
        if found == named {
            Ok(self)
        } else {
            Err(format!("its layer has the digest {found}, and its manifest says {named}"))
        }
    }
}

/// Reads it from its registry.
async fn pull(reference: &str, digest: &str) -> Result<Artifact, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{reference}: {error}");
    let named: Reference = reference.parse().map_err(|error| failed(&error))?;
    let pinned = Reference::with_digest(named.registry().to_owned(), named.repository().to_owned(), digest.to_owned());
    let registry = named.resolve_registry();
    // The host has one already; who has none gets the same. A second one is refused, and that is as well.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let client = Client::try_from(settings(registry)).map_err(|error| failed(&error))?;
    let credentials = credentials::of(registry);
    let types = [OCI_IMAGE_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE];
    let (manifest, _) =
        client.pull_manifest_raw(&pinned, &credentials, &types).await.map_err(|error| failed(&error))?;
    if manifest.len() > MANIFEST_MAX {
        return Err(failed(&"its manifest is larger than 4 MiB"));
    }
    let descriptor = component_of(&manifest).map_err(|error| failed(&error))?;
    let mut layer = Vec::new();
    let mut chunks = client.pull_blob_stream(&pinned, &descriptor).await.map_err(|error| failed(&error))?.stream;
    while let Some(chunk) = chunks.try_next().await.map_err(|error| failed(&error))? {
        if layer.len() + chunk.len() > BYTES_MAX {
            return Err(failed(&format!("its component is larger than {BYTES_MAX} bytes")));
        }
        layer.extend_from_slice(&chunk);
    }
    Artifact { manifest: manifest.to_vec(), layer }.checked(digest).map_err(|error| failed(&error))
}

/// TLS, but towards a registry on the loopback, as other clients have it.
fn settings(registry: &str) -> ClientConfig {
    let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host).trim_matches(['[', ']']);
    let is_loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let protocol =
        if is_loopback { ClientProtocol::HttpsExcept(vec![registry.to_owned()]) } else { ClientProtocol::Https };
    ClientConfig {
        protocol,
        connect_timeout: Some(Duration::from_secs(10)),
        read_timeout: Some(Duration::from_secs(20)),
        user_agent: "orrery",
        ..ClientConfig::default()
    }
}

/// The layer of a manifest that is a component.
fn component_of(manifest: &[u8]) -> Result<OciDescriptor, String> {
    let manifest: OciImageManifest =
        serde_json::from_slice(manifest).map_err(|error| format!("its manifest cannot be read: {error}"))?;
    let is_component = |layer: &OciDescriptor| COMPONENT.contains(&layer.media_type.as_str());
    let mut components = manifest.layers.into_iter().filter(is_component);
    match (components.next(), components.next()) {
        (Some(layer), None) => Ok(layer),
        (None, _) => Err(format!("it has no layer of type {}", COMPONENT[0])),
        (Some(_), Some(_)) => Err(format!("it has several layers of type {}; one is the component", COMPONENT[0])),
    }
}

#[cfg(test)]
mod tests;
