use super::*;
use crate::placement::TaintEffect;

const HEAD: &str = "apiVersion: config.orrery.dev/v1alpha1\nkind: Configuration\n";

fn problem(body: &str) -> String {
    Config::parse(&format!("{HEAD}{body}")).unwrap_err().to_string()
}

#[test]
fn a_whole_file_is_read() {
    let yaml = format!(
        "{HEAD}\
kubeconfigs: [a.yaml, b.yaml]
contexts: [east]
allContexts: true
members:
- name: west
  kubeconfig: w.yaml
  context: admin@west
- {{name: north, kubeconfig: n.yaml}}
clusters:
  east:
    labels: {{region: eu}}
    taints: [{{key: orrery.dev/maintenance, value: 'true', effect: NoSchedule}}]
listen: '[::1]:7443'
data: /var/lib/orrery
store: etcd
etcd:
  endpoints: [https://a:2379, https://b:2379]
  prefix: /o
  cacert: eca.pem
  cert: ec.pem
  key: ek.pem
  user: orrery
  password: s3cret
  passwordFile: p.txt
stamp: annotation
cacheBytesMax: 2Gi
extensions: ext
namespaces: [a, b]
tls:
  certFile: c.pem
  privateKeyFile: k.pem
  clientCAFile: ca.pem
  sans: [fleet.example.com]
log:
  format: json
  level: info,orrery_fleet=debug
"
    );
    let config = Config::parse(&yaml).unwrap();
    let members = config.members.unwrap();
    assert_eq!(members[0].context.as_deref(), Some("admin@west"));
    assert_eq!((members[1].name.as_str(), &members[1].context), ("north", &None));
    let east = &config.clusters.unwrap()[&ClusterName::new("east").unwrap()];
    assert_eq!((east.labels["region"].as_str(), east.taints[0].effect), ("eu", TaintEffect::NoSchedule));
    assert_eq!(config.listen.unwrap().port(), 7443);
    assert_eq!((config.store, config.stamp), (Some(Store::Etcd), Some(Stamp::Annotation)));
    let etcd = config.etcd;
    assert_eq!(etcd.endpoints.unwrap(), ["https://a:2379", "https://b:2379"]);
    assert_eq!((etcd.prefix.as_deref(), etcd.user.as_deref()), (Some("/o"), Some("orrery")));
    assert_eq!(etcd.password.unwrap().reveal(), "s3cret");
    let files = [etcd.cacert, etcd.cert, etcd.key, etcd.password_file].map(|file| file.unwrap().display().to_string());
    assert_eq!(files, ["eca.pem", "ec.pem", "ek.pem", "p.txt"]);
    assert_eq!(config.cache_bytes_max.map(ByteSize::bytes), Some(2 << 30));
    assert_eq!(config.extensions, Some("ext".into()));
    assert_eq!(config.tls.client_ca_file, Some("ca.pem".into()));
    assert_eq!(config.tls.sans.unwrap(), ["fleet.example.com"]);
    assert_eq!(
        (config.log.format, config.log.level.as_deref()),
        (Some(LogFormat::Json), Some("info,orrery_fleet=debug"))
    );
    assert_eq!(config.contexts.unwrap(), ["east"]);
    assert_eq!(config.all_contexts, Some(true));
}

#[test]
fn every_key_may_be_left_out_and_a_number_is_bytes() {
    let config = Config::parse(&format!("{HEAD}cacheBytesMax: 1000\n")).unwrap();
    assert_eq!(config.cache_bytes_max, Some(ByteSize::new(1000)));
    assert_eq!(config.contexts, None);
}

#[test]
fn an_unknown_key_is_an_error_with_its_place_and_the_nearest_right_name() {
    assert_eq!(problem("listn: x\n"), "line 3, column 1: unknown key `listn`; did you mean `listen`?");
    assert_eq!(
        problem("tls:\n  clientCaFle: x\n"),
        "line 4, column 3: unknown key `clientCaFle`; did you mean `clientCAFile`?"
    );
    assert_eq!(
        problem("members:\n- name: a\n  kubeconfig: b\n  Context: c\n"),
        "line 6, column 3: unknown key `Context`; did you mean `context`?"
    );
    assert_eq!(
        problem("clusters:\n  east:\n    label: {a: b}\n"),
        "line 5, column 5: unknown key `label`; did you mean `labels`?"
    );
    assert_eq!(
        problem("log:\n  colour: green\n"),
        "line 4, column 3: unknown key `colour`; known here are format, level"
    );
}

#[test]
fn a_wrong_value_is_an_error_with_its_place() {
    assert_eq!(problem("store: memry\n"), "line 3, column 8: unknown value `memry`; did you mean `memory`?");
    assert!(problem("cacheBytesMax: lots\n").contains("line 3, column 16: \"lots\" is no number of bytes"));
    assert!(problem("members: [{name: A, kubeconfig: x}]\n").contains("cluster name \"A\" is not valid"));
    assert!(problem("listen: nowhere\n").starts_with("line 3, column 9: "));
    assert!(problem("contexts: [east\n").starts_with("line "));
    assert!(problem("clusters: {East: {}}\n").contains("cluster name \"East\" is not valid"));
    assert!(problem("clusters: {a: {labels: {a b: c}}}\n").contains("\"a b\" is no label key"));
    let taint = "clusters: {a: {taints: [{key: k, effect: Noschedule}]}}\n";
    assert!(problem(taint).contains("unknown value `Noschedule`; did you mean `NoSchedule`?"));
    assert!(problem("contexts: [a]\ncontexts: [b]\n").starts_with("line 4, column 1: "));
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let error = Config::parse("contexts: [east]\n").unwrap_err().to_string();
    assert!(error.contains("write `apiVersion: config.orrery.dev/v1alpha1`"), "{error}");
    let error = Config::parse("apiVersion: v1\nkind: Configuration\n").unwrap_err().to_string();
    assert!(error.contains("apiVersion is \"v1\""), "{error}");
    assert!(Config::parse("").is_err());
}
