use rustls_pki_types::CertificateDer;

/// Who asks, as a verified client certificate says it: the user is its common name, the groups its organizations
/// (as kube-apiserver's x509 authenticator reads it). Everyone who is someone is in `system:authenticated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user.
    pub user: String,
    /// The groups, `system:authenticated` last.
    pub groups: Vec<String>,
}

/// Why a verified certificate names nobody.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdentityError {
    /// The certificate cannot be read.
    #[error("the client certificate is no X.509 certificate")]
    NotX509,
    /// It has no common name.
    #[error("the client certificate names no user; its subject needs a common name (CN)")]
    NoUser,
}

// === impl Identity ===

impl Identity {
    /// The group that kube-apiserver lets do everything.
    pub const MASTERS: &'static str = "system:masters";

    /// The identity in the chain that the peer of a TLS connection showed and the handshake verified
    /// (`ServerConnection::peer_certificates`).
    pub fn of_peer(chain: &[CertificateDer<'_>]) -> Result<Self, IdentityError> {
        let leaf = chain.first().ok_or(IdentityError::NotX509)?;
        let (_, parsed) = x509_parser::parse_x509_certificate(leaf).map_err(|_| IdentityError::NotX509)?;
        let subject = parsed.subject();
        let user = subject.iter_common_name().filter_map(|name| name.as_str().ok()).find(|name| !name.is_empty());
        let user = user.ok_or(IdentityError::NoUser)?.to_owned();
        let organizations = subject.iter_organization().filter_map(|name| name.as_str().ok());
        let groups = organizations.chain(["system:authenticated"]).map(str::to_owned).collect();
        Ok(Self { user, groups })
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::authority::{Authority, Purpose};
    use crate::credential::Credential;

    fn shown_by(purpose: Purpose<'_>) -> Result<Identity, IdentityError> {
        let authority = Authority::new(SystemTime::now()).unwrap();
        let pem = authority.issue(purpose, SystemTime::now()).unwrap();
        Identity::of_peer(Credential::from_pem(pem.as_bytes(), pem.as_bytes()).unwrap().chain())
    }

    #[test]
    fn user_and_groups_are_common_name_and_organizations() {
        let shown = shown_by(Purpose::Client { user: "orrery-admin", group: Identity::MASTERS }).unwrap();
        assert_eq!(shown.user, "orrery-admin");
        assert_eq!(shown.groups, ["system:masters", "system:authenticated"]);
    }

    #[test]
    fn a_certificate_without_a_common_name_names_nobody() {
        assert_eq!(shown_by(Purpose::Client { user: "", group: "g" }), Err(IdentityError::NoUser));
        assert_eq!(Identity::of_peer(&[]), Err(IdentityError::NotX509));
        assert_eq!(Identity::of_peer(&[CertificateDer::from(vec![1, 2, 3])]), Err(IdentityError::NotX509));
    }
}
