//! The running host, as a client sees it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::de::DeserializeOwned;

use crate::{Environment, Error, data::DataArgs};

/// A host on the same machine answers in milliseconds; one that is starting may hold a request for a while.
const CONNECT_MAX: Duration = Duration::from_secs(5);
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A host, found by its DIR.
pub(crate) struct Host {
    data: PathBuf,
    server: String,
    client: Client,
}

// === impl Host ===

impl Host {
    /// The host that serves from the DIR that `args` name. Nothing is asked yet.
    pub(crate) async fn find(args: &DataArgs, environment: &Environment) -> Result<Self, Error> {
        let data = args.directory(environment)?;
        let path = kubeconfig_path(&data);
        let refused = |reason: String| Error::NoKubeconfig { path: path.clone(), reason };
        let kubeconfig = Kubeconfig::from_yaml(&read_kubeconfig(&data)?).map_err(|error| refused(error.to_string()))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = config.map_err(|error| refused(error.to_string()))?;
        // A host of this machine is reached directly, whatever proxy is set for the world.
        config.proxy_url = None;
        config.connect_timeout = Some(CONNECT_MAX);
        config.read_timeout = Some(ANSWER_MAX);
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client = Client::try_from(config).map_err(|error| refused(error.to_string()))?;
        Ok(Self { data, server, client })
    }

    /// Its URL.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The JSON document at `path`.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let request = http::Request::get(path).body(Vec::new()).expect("paths are made from encoded parts");
        self.ask(path, request).await
    }

    /// The JSON document that answers `body`, of this content type, at `path`.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, kind: &str, body: Vec<u8>) -> Result<T, Error> {
        let request = http::Request::post(path).header(http::header::CONTENT_TYPE, kind);
        self.ask(path, request.body(body).expect("paths are made from encoded parts")).await
    }

    async fn ask<T: DeserializeOwned>(&self, path: &str, request: http::Request<Vec<u8>>) -> Result<T, Error> {
        let text = self.client.request_text(request).await.map_err(|error| match error {
            kube::Error::Api(status) => Error::Refused { code: status.code, message: status.message.clone() },
            other => Error::NoAnswer { server: self.server.clone(), data: self.data.clone(), source: Box::new(other) },
        })?;
        let server = self.server.clone();
        serde_json::from_str(&text).map_err(|source| Error::Answer { server, path: path.to_owned(), source })
    }
}

/// The kubeconfig in DIR.
pub(crate) fn kubeconfig_path(data: &Path) -> PathBuf {
    data.join("kubeconfig")
}

/// Its text.
pub(crate) fn read_kubeconfig(data: &Path) -> Result<String, Error> {
    let path = kubeconfig_path(data);
    std::fs::read_to_string(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Error::NoHost { data: data.to_owned() },
        _ => Error::ReadKubeconfig { path, source },
    })
}
