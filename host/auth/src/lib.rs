//! Who asks: the host's certificates, and the identity that a client's certificate proves.
//!
//! DIR (the host's data directory) gets, at the first start:
//!
//! | file | is | ends, and is renewed |
//! |---|---|---|
//! | `pki/ca.pem` | key and certificate of the host's own CA | 10 years; a year before, with the same key |
//! | `pki/ca.crt` | its certificate alone, for people | with it |
//! | `pki/server.pem` | what the host serves with | a year; 4 months before, and when its names change |
//! | `pki/admin.pem` | client certificate of `orrery-admin`, group `system:masters` | a year; 4 months before |
//! | `kubeconfig` | server URL, CA and client certificate in one | with them |
//!
//! A private key stands in one file with its certificate, written beside and renamed into place, so that no crash leaves
//! a pair that does not match. [`Certificates`] owns these files. It knows no clock: time is an argument, except in
//! [`Certificates::keep_renewed`]. A renewed server certificate is served from the next handshake on, without a restart.
//!
//! There is no anonymous access. The TLS handshake verifies a client certificate against the host's CA and
//! `--client-ca-file`; a client that shows none gets through the handshake, has no [`Identity`], and is answered 401.

mod authority;
mod certificates;
mod credential;
mod file;
mod identity;
mod kubeconfig;
mod metrics;
mod serving;

pub use certificates::{CertificateSettings, Certificates, Error, ServingFiles};
pub use credential::CredentialError;
pub use file::FileError;
pub use identity::{Identity, IdentityError};
pub use kubeconfig::{CLIENT_USER, CONTEXT, server_url};
pub use metrics::Metrics;
