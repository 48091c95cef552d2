//! The etcd of `--store etcd`, from flags, variables and file.

use std::path::PathBuf;

use orrery_api::config::{Etcd, Password, Store};

use super::resolve::{ResolveError, Variables};
use super::{EtcdPlace, PasswordSource, StorePlace};

/// What the flags say of an etcd.
pub(super) struct EtcdFlags {
    pub(super) endpoints: Vec<String>,
    pub(super) prefix: Option<String>,
    pub(super) cacert: Option<PathBuf>,
    pub(super) cert: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) user: Option<String>,
    pub(super) password_file: Option<PathBuf>,
}

// === impl EtcdFlags ===

impl EtcdFlags {
    /// Where markers live if `store` was chosen.
    pub(super) fn resolve(self, store: Store, from: Variables<'_>, file: Etcd) -> Result<StorePlace, ResolveError> {
        let endpoints = from.many(self.endpoints, "ORRERY_ETCD_ENDPOINTS", file.endpoints)?;
        match (store, endpoints.is_empty()) {
            (Store::Embedded, true) => return Ok(StorePlace::Embedded),
            (Store::Memory, true) => return Ok(StorePlace::Memory),
            (Store::Etcd, true) => return Err(ResolveError::NoEtcd),
            (Store::Embedded | Store::Memory, false) => return Err(ResolveError::OtherStore),
            (Store::Etcd, false) => {}
        }
        let cert = from.one(self.cert, "ORRERY_ETCD_CERT", file.cert)?;
        let key = from.one(self.key, "ORRERY_ETCD_KEY", file.key)?;
        let client_files = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            (Some(_), None) => return Err(ResolveError::HalfEtcdCertificate { missing: "--etcd-key" }),
            (None, Some(_)) => return Err(ResolveError::HalfEtcdCertificate { missing: "--etcd-cert" }),
        };
        let user = from.one(self.user, "ORRERY_ETCD_USER", file.user)?;
        let password_file = from.one(self.password_file, "ORRERY_ETCD_PASSWORD_FILE", file.password_file)?;
        Ok(StorePlace::Etcd(EtcdPlace {
            endpoints,
            prefix: from.one(self.prefix, "ORRERY_ETCD_PREFIX", file.prefix)?,
            ca_file: from.one(self.cacert, "ORRERY_ETCD_CACERT", file.cacert)?,
            client_files,
            user: with_password(user, password_file, from.password("ORRERY_ETCD_PASSWORD", file.password))?,
        }))
    }
}

/// A file goes before a password that is given: it is the flag of the two.
fn with_password(
    user: Option<String>,
    file: Option<PathBuf>,
    given: Option<Password>,
) -> Result<Option<(String, PasswordSource)>, ResolveError> {
    let password = file.map(PasswordSource::File).or(given.map(PasswordSource::Given));
    match (user, password) {
        (Some(user), Some(password)) => Ok(Some((user, password))),
        (None, None) => Ok(None),
        (Some(user), None) => Err(ResolveError::NoEtcdPassword { user }),
        (None, Some(_)) => Err(ResolveError::NoEtcdUser),
    }
}
