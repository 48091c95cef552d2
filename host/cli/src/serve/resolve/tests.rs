use clap::Parser;
use orrery_api::Stamp;
use orrery_api::config::{ByteSize, LogFormat};
use orrery_api::placement::ClusterAttributes;

use super::*;
use crate::{Cli, Command, EtcdPlace, PasswordSource, StorePlace};

const HEAD: &str = "apiVersion: config.orrery.dev/v1alpha1\nkind: Configuration\n";

fn args(flags: &[&str]) -> ServeArgs {
    let words = ["orrery", "serve"].iter().chain(flags);
    match Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).command {
        Command::Serve(args) => *args,
        Command::Ask(ask) => panic!("{ask:?}"),
    }
}

fn resolve(flags: &[&str], variables: &[(&str, &str)], file: &str) -> Result<Settings, ResolveError> {
    let mut all = vec![("HOME", "/h")];
    all.extend(variables);
    args(flags).resolve(&Environment::of(&all), Config::parse(&format!("{HEAD}{file}")).unwrap())
}

/// What `show` shows of the settings where flag, variable and file say it, then variable and file, the file, nobody.
fn by_source(flag: &str, variable: (&str, &str), file: &str, show: impl Fn(Settings) -> String) -> [String; 4] {
    let flags: Vec<&str> = flag.split(' ').collect();
    [(&flags[..], &[variable][..], file), (&[], &[variable], file), (&[], &[], file), (&[], &[], "")]
        .map(|(flags, variables, file)| show(resolve(flags, variables, file).unwrap()))
}

#[test]
fn a_flag_goes_before_its_variable_before_the_file_before_the_default() {
    let path = |path: PathBuf| path.display().to_string();
    let optional = |path: Option<PathBuf>| format!("{path:?}");
    let cases: Vec<([String; 4], [&str; 4])> = vec![
        (
            by_source("--listen [::1]:1", ("ORRERY_LISTEN", "[::1]:2"), "listen: '[::1]:3'", |s| s.listen.to_string()),
            ["[::1]:1", "[::1]:2", "[::1]:3", "127.0.0.1:6443"],
        ),
        (
            by_source("--data /1", ("ORRERY_DATA", "/2"), "data: /3", |s| path(s.data)),
            ["/1", "/2", "/3", "/h/.local/state/orrery"],
        ),
        (
            by_source("--store memory", ("ORRERY_STORE", "embedded"), "store: memory", |s| format!("{:?}", s.store)),
            ["Memory", "Embedded", "Memory", "Embedded"],
        ),
        (
            by_source("--stamp none", ("ORRERY_STAMP", "annotation"), "stamp: none", |s| format!("{:?}", s.stamp)),
            ["None", "Annotation", "None", "Label"],
        ),
        (
            by_source("--cache-bytes-max 1Gi", ("ORRERY_CACHE_BYTES_MAX", "2Gi"), "cacheBytesMax: 3Gi", |s| {
                s.cache_bytes_max.map_or_else(String::new, |size| size.to_string())
            }),
            ["1Gi", "2Gi", "3Gi", ""],
        ),
        (
            by_source("--extensions 1", ("ORRERY_EXTENSIONS", "2"), "extensions: 3", |s| optional(s.extensions)),
            ["Some(\"1\")", "Some(\"2\")", "Some(\"3\")", "None"],
        ),
        (
            by_source("--namespaces a,b", ("ORRERY_NAMESPACES", "c, d"), "namespaces: [e]", |s| {
                format!("{:?}", s.namespaces)
            }),
            ["Some([\"a\", \"b\"])", "Some([\"c\", \"d\"])", "Some([\"e\"])", "None"],
        ),
        (
            by_source("--client-ca-file 1", ("ORRERY_CLIENT_CA_FILE", "2"), "tls: {clientCAFile: 3}", |s| {
                optional(s.client_ca_file)
            }),
            ["Some(\"1\")", "Some(\"2\")", "Some(\"3\")", "None"],
        ),
        (
            by_source("--tls-san a --tls-san b", ("ORRERY_TLS_SAN", "c"), "tls: {sans: [d]}", |s| s.tls_sans.join(" ")),
            ["a b", "c", "d", ""],
        ),
        (
            by_source("--log-format json", ("ORRERY_LOG_FORMAT", "text"), "log: {format: json}", |s| {
                format!("{:?}", s.log_format)
            }),
            ["Json", "Text", "Json", "Text"],
        ),
        (
            by_source("--log-level warn", ("ORRERY_LOG_LEVEL", "debug"), "log: {level: trace}", |s| s.log_level),
            ["warn", "debug", "trace", "info"],
        ),
        (
            by_source("--kubeconfig 1 --kubeconfig 2", ("ORRERY_KUBECONFIG", "3:4"), "kubeconfigs: [5]", |s| {
                s.kubeconfigs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
            }),
            ["1 2", "3 4", "5", ""],
        ),
        (
            by_source(
                "--member a=1#c",
                ("ORRERY_MEMBER", "b=2,c=3"),
                "members: [{name: d, kubeconfig: '4', context: e}]",
                |s| s.members.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            ),
            ["a=1#c", "b=2 c=3", "d=4#e", ""],
        ),
        (
            by_source(
                "--cluster-label a:k=1 --cluster-label a:l=2",
                ("ORRERY_CLUSTER_LABEL", "b:k=3,c:k=4"),
                "clusters: {d: {labels: {k: '5'}}, e: {labels: {k: '6'}}}",
                |s| labels(&s).join(" "),
            ),
            ["a:k=1 a:l=2", "b:k=3 c:k=4", "d:k=5 e:k=6", ""],
        ),
        (
            by_source(
                "--cluster-taint a:k=1:NoSchedule",
                ("ORRERY_CLUSTER_TAINT", "b:k:NoExecute"),
                "clusters: {c: {taints: [{key: k, effect: PreferNoSchedule}]}}",
                |s| taints(&s).join(" "),
            ),
            ["a:k=1:NoSchedule", "b:k:NoExecute", "c:k:PreferNoSchedule", ""],
        ),
    ];
    for (resolved, wanted) in cases {
        assert_eq!(resolved, wanted);
    }
}

fn labels(settings: &Settings) -> Vec<String> {
    let all = settings.clusters.iter();
    let of = |(cluster, attributes): (&ClusterName, &ClusterAttributes)| -> Vec<String> {
        attributes.labels.iter().map(|(key, value)| format!("{cluster}:{key}={value}")).collect()
    };
    all.flat_map(of).collect()
}

fn taints(settings: &Settings) -> Vec<String> {
    let all = settings.clusters.iter();
    all.flat_map(|(cluster, attributes)| attributes.taints.iter().map(move |taint| format!("{cluster}:{taint}")))
        .collect()
}

#[test]
fn labels_and_taints_of_a_cluster_may_come_from_two_sources() {
    let file = "clusters: {a: {labels: {k: v}, taints: [{key: t, effect: NoExecute}]}}";
    let settings = resolve(&["--cluster-label", "a:k=w"], &[], file).unwrap();
    assert_eq!((labels(&settings), taints(&settings)), (vec!["a:k=w".to_owned()], vec!["a:t:NoExecute".to_owned()]));
}

#[test]
fn a_cluster_cannot_be_given_its_own_name_as_a_label() {
    let error = resolve(&["--cluster-label", "a:orrery.dev/cluster=b"], &[], "").unwrap_err().to_string();
    assert_eq!(error, "orrery.dev/cluster of a is its name, and cannot be given; leave that label out");
}

#[test]
fn naming_contexts_and_taking_all_are_one_choice() {
    let contexts =
        |flags: &[&str], variables: &[(&str, &str)], file: &str| resolve(flags, variables, file).unwrap().contexts;
    let named = |names: &[&str]| Contexts::Named(names.iter().map(ToString::to_string).collect());
    assert_eq!(contexts(&["--context", "a", "--context", "b"], &[], "allContexts: true"), named(&["a", "b"]));
    assert_eq!(contexts(&["--all-contexts"], &[("ORRERY_CONTEXT", "c")], "contexts: [d]"), Contexts::All);
    assert_eq!(contexts(&[], &[("ORRERY_CONTEXT", "c,d")], "allContexts: true"), named(&["c", "d"]));
    assert_eq!(contexts(&[], &[("ORRERY_ALL_CONTEXTS", "true")], "contexts: [d]"), Contexts::All);
    assert_eq!(contexts(&[], &[], "contexts: [d]"), named(&["d"]));
    assert_eq!(contexts(&[], &[], ""), Contexts::Unsaid);
    assert!(Cli::try_parse_from(["orrery", "serve", "--context", "a", "--all-contexts"]).is_err());
}

#[test]
fn a_certificate_and_its_key_may_come_from_two_sources_but_not_alone() {
    let both = resolve(&["--tls-cert-file", "c"], &[("ORRERY_TLS_PRIVATE_KEY_FILE", "k")], "").unwrap();
    assert_eq!(both.serving, Some(("c".into(), "k".into())));
    let half = resolve(&[], &[], "tls: {privateKeyFile: k}").unwrap_err().to_string();
    assert!(half.ends_with("--tls-cert-file is missing"), "{half}");
}

fn etcd(flags: &[&str], variables: &[(&str, &str)], file: &str) -> Result<EtcdPlace, String> {
    match resolve(flags, variables, file).map_err(|error| error.to_string())?.store {
        StorePlace::Etcd(place) => Ok(place),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn an_etcd_is_told_by_flags_before_variables_before_the_file() {
    const FILE: &str = "store: etcd\netcd: {endpoints: ['http://f:1'], prefix: /f, cacert: fa, cert: fc, key: fk, user: fu, \
        password: fp}";
    let variables = [
        ("ORRERY_STORE", "etcd"),
        ("ORRERY_ETCD_ENDPOINTS", "http://v:1,http://w:1"),
        ("ORRERY_ETCD_PREFIX", "/v"),
        ("ORRERY_ETCD_CACERT", "va"),
        ("ORRERY_ETCD_CERT", "vc"),
        ("ORRERY_ETCD_KEY", "vk"),
        ("ORRERY_ETCD_USER", "vu"),
        ("ORRERY_ETCD_PASSWORD", "vp"),
    ];
    let flags = "--store etcd --etcd-endpoints http://a:1,http://b:1 --etcd-prefix /a --etcd-cacert aa --etcd-cert ac \
        --etcd-key ak --etcd-user au --etcd-password-file ap";
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let place = |endpoints: &[&str], of: &str, password| EtcdPlace {
        endpoints: endpoints.iter().map(ToString::to_string).collect(),
        prefix: Some(format!("/{of}")),
        ca_file: Some(format!("{of}a").into()),
        client_files: Some((format!("{of}c").into(), format!("{of}k").into())),
        user: Some((format!("{of}u"), password)),
    };
    let given = |text: &str| PasswordSource::Given(Password::new(text));
    assert_eq!(etcd(&[], &[], FILE), Ok(place(&["http://f:1"], "f", given("fp"))));
    assert_eq!(etcd(&[], &variables, FILE), Ok(place(&["http://v:1", "http://w:1"], "v", given("vp"))));
    let of_flags = place(&["http://a:1", "http://b:1"], "a", PasswordSource::File("ap".into()));
    assert_eq!(etcd(&flags, &variables, FILE), Ok(of_flags));
}

#[test]
fn half_of_what_an_etcd_needs_is_an_error_that_says_what_is_missing() {
    const URL: &str = "--etcd-endpoints=http://a:1";
    let wrong = |flags: &[&str]| etcd(flags, &[], "").unwrap_err();
    assert!(wrong(&["--store=etcd"]).contains("needs --etcd-endpoints"));
    assert!(wrong(&[URL]).contains("give --store etcd too"));
    assert!(wrong(&[URL, "--store=etcd", "--etcd-cert=c"]).ends_with("--etcd-key is missing"));
    assert!(wrong(&[URL, "--store=etcd", "--etcd-key=k"]).ends_with("--etcd-cert is missing"));
    assert!(wrong(&[URL, "--store=etcd", "--etcd-user=u"]).contains("set ORRERY_ETCD_PASSWORD"));
    assert!(wrong(&[URL, "--store=etcd", "--etcd-password-file=p"]).contains("name it with --etcd-user"));
}

#[test]
fn a_wrong_variable_is_an_error_that_names_it() {
    let wrong = |variable: &'static str, value: &str| resolve(&[], &[(variable, value)], "").unwrap_err().to_string();
    assert_eq!(
        wrong("ORRERY_STORE", "memry"),
        "environment variable ORRERY_STORE is \"memry\": unknown variant `memry`, expected one of `embedded`, `memory`, `etcd`"
    );
    assert!(wrong("ORRERY_LISTEN", "here").starts_with("environment variable ORRERY_LISTEN is \"here\": "));
    assert!(wrong("ORRERY_MEMBER", "east").contains("write NAME=FILE"));
    assert!(wrong("ORRERY_ALL_CONTEXTS", "yes").contains("ORRERY_ALL_CONTEXTS"));
    assert!(resolve(&["--listen", "[::1]:1"], &[("ORRERY_LISTEN", "here")], "").is_ok(), "the flag goes first");
}

#[test]
fn a_namespace_that_could_not_stand_in_a_path_is_refused() {
    for name in ["a/b", "A", "-a", ""] {
        let error = resolve(&["--namespaces", &format!("a,{name}")], &[], "").unwrap_err().to_string();
        assert_eq!(error, format!("--namespaces has {name:?}, which is no namespace's name"));
    }
}

#[test]
fn the_file_is_the_flags_or_the_variables_and_errors_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orrery.yaml");
    let load = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut all = vec![("HOME", "/h")];
        all.extend(variables);
        args(flags).load(&Environment::of(&all))
    };
    fs::write(&path, format!("{HEAD}store: memory\ncacheBytesMax: 5\n")).unwrap();
    let text = path.to_str().unwrap();
    let settings = load(&[], &[("ORRERY_CONFIG", text), ("RUST_LOG", "debug")]).unwrap();
    assert_eq!(
        (settings.store, settings.stamp, settings.log_format),
        (StorePlace::Memory, Stamp::Label, LogFormat::Text)
    );
    assert_eq!((settings.cache_bytes_max, settings.log_level.as_str()), (Some(ByteSize::new(5)), "debug"));
    let missing = load(&["--config", "/nowhere.yaml"], &[("ORRERY_CONFIG", text)]).unwrap_err().to_string();
    assert_eq!(missing, "failed to read configuration file /nowhere.yaml");
    fs::write(&path, format!("{HEAD}stor: memory\n")).unwrap();
    let wrong = load(&["--config", text], &[]).unwrap_err();
    let cause = std::error::Error::source(&wrong).unwrap().to_string();
    assert_eq!(wrong.to_string(), format!("configuration file {text}"));
    assert_eq!(cause, "line 3, column 1: unknown key `stor`; did you mean `store`?");
}
