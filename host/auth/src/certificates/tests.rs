use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn settings(data: &Path) -> CertificateSettings {
    CertificateSettings {
        data: data.to_owned(),
        server: "https://127.0.0.1:6443".into(),
        listen: None,
        names: Vec::new(),
        serving: None,
        client_ca: None,
    }
}

fn open(settings: CertificateSettings, now: SystemTime) -> Result<Certificates, Error> {
    Certificates::open(settings, now, Metrics::default())
}

/// What a client sees that trusts `trusted` (PEM) and shows `client` (PEM), where it shows one: the server's certificate
/// and the identity that the server sees. One round trip over an in-memory pipe, so that TLS 1.3's late refusal of a
/// client certificate is seen too.
async fn handshake(
    config: Arc<ServerConfig>,
    trusted: &[u8],
    client: Option<&[u8]>,
    name: &str,
) -> Result<(CertificateDer<'static>, Option<Identity>), String> {
    let mut roots = RootCertStore::empty();
    for certificate in chain_from_pem(trusted).unwrap() {
        roots.add(certificate).unwrap();
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let mut asking = match client {
        Some(pem) => {
            let key = PrivateKeyDer::from_pem_slice(pem).unwrap();
            builder.with_client_auth_cert(chain_from_pem(pem).unwrap(), key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    asking.alpn_protocols = vec![b"h2".to_vec()];
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async move { TlsAcceptor::from(config).accept(far).await });
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let stream = TlsConnector::from(Arc::new(asking)).connect(name, near).await.map_err(|error| error.to_string())?;
    let served = server.await.unwrap().map_err(|error| error.to_string())?;
    assert_eq!(served.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let identity = served.get_ref().1.peer_certificates().map(|chain| Identity::of_peer(chain).unwrap());
    Ok((stream.get_ref().1.peer_certificates().unwrap()[0].clone(), identity))
}

async fn shown(certificates: &Certificates, trusted: &[u8]) -> CertificateDer<'static> {
    handshake(certificates.server_config(), trusted, None, "localhost").await.unwrap().0
}

#[tokio::test]
async fn the_first_start_makes_all_that_a_client_needs() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("deep/orrery");
    let certificates = open(settings(&dir), SystemTime::now()).unwrap();
    for private in ["pki/ca.pem", "pki/server.pem", "pki/admin.pem", "kubeconfig"] {
        assert_eq!(fs::metadata(dir.join(private)).unwrap().permissions().mode() & 0o777, 0o600, "{private}");
    }
    let (ca, admin) = (fs::read(dir.join("pki/ca.crt")).unwrap(), fs::read(dir.join("pki/admin.pem")).unwrap());
    for name in ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"] {
        let (_, identity) = handshake(certificates.server_config(), &ca, Some(&admin), name).await.unwrap();
        assert_eq!(identity.unwrap().user, CLIENT_USER);
    }
    let refused = handshake(certificates.server_config(), &ca, None, "example.com").await.unwrap_err();
    assert!(refused.contains("not valid for name"), "{refused}");
}

#[tokio::test]
async fn a_client_without_a_certificate_is_nobody_and_one_of_another_ca_is_refused() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let certificates = open(settings(data.path()), SystemTime::now()).unwrap();
    open(settings(other.path()), SystemTime::now()).unwrap();
    let ca = fs::read(data.path().join("pki/ca.crt")).unwrap();
    let stranger = fs::read(other.path().join("pki/admin.pem")).unwrap();
    let (_, identity) = handshake(certificates.server_config(), &ca, None, "localhost").await.unwrap();
    assert_eq!(identity, None);
    let refused = handshake(certificates.server_config(), &ca, Some(&stranger), "localhost").await;
    assert!(refused.is_err(), "{refused:?}");

    let with_ca = CertificateSettings { client_ca: Some(other.path().join("pki/ca.crt")), ..settings(data.path()) };
    let certificates = open(with_ca, SystemTime::now()).unwrap();
    let (_, identity) = handshake(certificates.server_config(), &ca, Some(&stranger), "localhost").await.unwrap();
    assert_eq!(identity.unwrap().groups, [Identity::MASTERS, "system:authenticated"]);
}

#[tokio::test]
async fn a_second_start_keeps_what_still_holds() {
    let data = tempfile::tempdir().unwrap();
    let read = || {
        ["pki/ca.pem", "pki/server.pem", "pki/admin.pem", "kubeconfig"].map(|f| fs::read(data.path().join(f)).unwrap())
    };
    open(settings(data.path()), SystemTime::now()).unwrap();
    let first = read();
    open(settings(data.path()), SystemTime::now() + 200 * DAY).unwrap();
    assert_eq!(read(), first);
}

#[tokio::test]
async fn a_certificate_is_renewed_before_it_ends_without_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    let made = now - 245 * DAY;
    let mut certificates = open(settings(data.path()), made).unwrap();
    let ca = fs::read(data.path().join("pki/ca.crt")).unwrap();
    let kubeconfig = fs::read(certificates.kubeconfig_path()).unwrap();
    let first = shown(&certificates, &ca).await;
    certificates.renew(made + 243 * DAY).unwrap();
    assert_eq!(shown(&certificates, &ca).await, first, "a third of its life is left");
    certificates.renew(now).unwrap();
    let second = shown(&certificates, &ca).await;
    assert_ne!(second, first);
    assert!(Validity::of(&second).unwrap().holds(now, 364 * DAY));
    assert_ne!(fs::read(certificates.kubeconfig_path()).unwrap(), kubeconfig, "the client certificate is renewed too");
    assert_eq!(certificates.metrics.renewals.get(), 2);
}

#[tokio::test]
async fn a_renewed_ca_is_trusted_by_who_trusts_the_old_one() {
    let data = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    let mut certificates = open(settings(data.path()), now - 3400 * DAY).unwrap();
    let old = fs::read(data.path().join("pki/ca.crt")).unwrap();
    certificates.renew(now).unwrap();
    let new = fs::read(data.path().join("pki/ca.crt")).unwrap();
    assert_ne!(new, old);
    assert_eq!(shown(&certificates, &old).await, shown(&certificates, &new).await);
    let admin = fs::read(data.path().join("pki/admin.pem")).unwrap();
    let (_, identity) = handshake(certificates.server_config(), &old, Some(&admin), "localhost").await.unwrap();
    assert!(identity.is_some());
}

#[tokio::test]
async fn another_name_makes_another_server_certificate() {
    let data = tempfile::tempdir().unwrap();
    open(settings(data.path()), SystemTime::now()).unwrap();
    let named = CertificateSettings {
        names: vec!["fleet.example.com".into(), "*.example.org".into()],
        listen: Some("192.0.2.7".parse().unwrap()),
        ..settings(data.path())
    };
    let certificates = open(named.clone(), SystemTime::now()).unwrap();
    let ca = fs::read(data.path().join("pki/ca.crt")).unwrap();
    for name in ["fleet.example.com", "a.example.org", "192.0.2.7", "localhost"] {
        handshake(certificates.server_config(), &ca, None, name).await.unwrap();
    }
    let error = open(CertificateSettings { names: vec!["a b".into()], ..named }, SystemTime::now()).unwrap_err();
    assert_eq!(error.to_string(), "--tls-san \"a b\" is neither a DNS name nor an IP address");
}

#[tokio::test]
async fn a_clock_set_back_makes_certificates_that_hold() {
    let data = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    open(settings(data.path()), now + 30 * DAY).unwrap();
    let certificates = open(settings(data.path()), now).unwrap();
    let ca = fs::read(data.path().join("pki/ca.crt")).unwrap();
    shown(&certificates, &ca).await;
}

#[tokio::test]
async fn given_files_are_served_and_read_anew_when_they_are_replaced() {
    let (data, made) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let now = SystemTime::now();
    let root = Authority::new(now).unwrap();
    let files = ServingFiles { certificate: made.path().join("tls.crt"), key: made.path().join("tls.key") };
    let place = || {
        let pem = root.issue(Purpose::Server { names: &["localhost".to_owned()] }, now).unwrap();
        fs::write(&files.certificate, pem.clone() + &root.certificate_pem()).unwrap();
        fs::write(&files.key, pem).unwrap();
    };
    place();
    let given = CertificateSettings { serving: Some(files.clone()), ..settings(data.path()) };
    let mut certificates = open(given, now).unwrap();
    let trusted = root.certificate_pem();
    let first = shown(&certificates, trusted.as_bytes()).await;
    place();
    certificates.renew(now).unwrap();
    let second = shown(&certificates, trusted.as_bytes()).await;
    assert_ne!(second, first);
    let kubeconfig = fs::read_to_string(certificates.kubeconfig_path()).unwrap();
    assert!(kubeconfig.contains("certificate-authority-data"), "the chain's root is what clients are to trust");

    fs::write(&files.key, "gone").unwrap();
    assert!(certificates.renew(now).is_err());
    assert_eq!(shown(&certificates, trusted.as_bytes()).await, second, "served as before");
}

#[test]
fn unusable_files_are_named_with_what_is_wrong() {
    let (data, made) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let now = SystemTime::now();
    let root = Authority::new(now).unwrap();
    let (one, two) = (made.path().join("one"), made.path().join("two"));
    for path in [&one, &two] {
        let pem = root.issue(Purpose::Server { names: &["localhost".to_owned()] }, now).unwrap();
        fs::write(path, pem).unwrap();
    }
    let chain = |error: Error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        format!("{error}: {cause}")
    };
    let serve = |certificate: &Path, key: &Path| {
        let files = ServingFiles { certificate: certificate.to_owned(), key: key.to_owned() };
        chain(open(CertificateSettings { serving: Some(files), ..settings(data.path()) }, now).unwrap_err())
    };
    let mismatch = serve(&one, &two);
    assert!(mismatch.contains("do not belong together") && mismatch.contains(two.to_str().unwrap()), "{mismatch}");
    let missing = serve(&one, Path::new("/nowhere/tls.key"));
    assert!(missing.contains("failed to read /nowhere/tls.key"), "{missing}");
    fs::write(&two, "no pem").unwrap();
    let keyless = serve(&one, &two);
    assert!(keyless.contains("no PEM private key"), "{keyless}");
    let no_ca = CertificateSettings { client_ca: Some(two), ..settings(data.path()) };
    let no_ca = chain(open(no_ca, now).unwrap_err());
    assert!(no_ca.contains("no PEM certificate"), "{no_ca}");
    fs::write(data.path().join("pki/ca.pem"), "damaged").unwrap();
    let damaged = chain(open(settings(data.path()), now).unwrap_err());
    assert!(damaged.contains("pki/ca.pem is not the CA") && damaged.contains("remove it"), "{damaged}");
}
