use std::fs;
use std::os::unix::fs::PermissionsExt;

use kube::config::Kubeconfig;

use super::*;

/// As the host writes it.
const HOST: &str = "apiVersion: v1
kind: Config
clusters:
- name: orrery
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority-data: Q0E=
users:
- name: orrery-admin
  user:
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZ
contexts:
- name: orrery
  context:
    cluster: orrery
    user: orrery-admin
current-context: orrery
";

/// A user's own, with an older entry of the host and things that no tool of ours knows.
const USERS: &str = "# mine
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- name: prod
  cluster: {server: 'https://prod.example.com', insecure-skip-tls-verify: false}
- name: orrery
  cluster: {server: 'https://127.0.0.1:1'}
users:
- name: '123'
  user: {token: 'yes', exec: {command: aws, args: ['007', 'null', \"a: b\"], env: null}}
contexts:
- name: prod
  context: {cluster: prod, user: '123', namespace: 'on'}
current-context: prod
extensions: [{name: x, extension: {deep: [1, 2.5, true]}}]
";

fn host() -> Value {
    merge::parse(HOST).unwrap()
}

#[test]
fn what_stands_in_the_users_file_is_kept_and_the_hosts_entries_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    fs::write(&path, USERS).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    file::merge_into(&path, &host()).unwrap();
    let written = fs::read_to_string(&path).unwrap();
    let (before, after) = (merge::parse(USERS).unwrap(), merge::parse(&written).unwrap());
    assert_eq!(after["current-context"], "orrery");
    for kept in ["preferences", "extensions", "apiVersion", "kind"] {
        assert_eq!(after[kept], before[kept], "{kept}");
    }
    assert_eq!(after["clusters"][0], before["clusters"][0]);
    assert_eq!(after["clusters"][1], host()["clusters"][0]);
    assert_eq!(after["users"][0], before["users"][0]);
    assert_eq!(after["contexts"].as_array().unwrap().len(), 2);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "neither lock nor new file is left");

    let read = Kubeconfig::from_yaml(&written).unwrap();
    assert_eq!(read.auth_infos[0].name, "123");
    assert_eq!(read.auth_infos[0].auth_info.as_ref().unwrap().exec.as_ref().unwrap().args.as_ref().unwrap()[0], "007");
    file::merge_into(&path, &host()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), written, "a second time changes nothing");
}

#[test]
fn a_file_that_is_not_there_is_made_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/config");
    file::merge_into(&path, &host()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Kubeconfig::read_from(&path).unwrap().current_context.as_deref(), Some("orrery"));
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (link, real) = (folder.path().join("link"), folder.path().join("real"));
    fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(file::merge_into(&link, &host()).unwrap(), fs::canonicalize(&real).unwrap());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("orrery-admin"));
}

#[test]
fn a_file_that_is_locked_or_no_kubeconfig_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    for (text, reason) in
        [("kind: Pod\n", "its kind is Pod"), ("clusters: 5\n", "its clusters are no list"), ("[]", "mapping")]
    {
        fs::write(&path, text).unwrap();
        let error = file::merge_into(&path, &host()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let lock = folder.path().join("config.lock");
    fs::write(&lock, "").unwrap();
    let error = file::merge_into(&path, &host()).unwrap_err().to_string();
    assert!(error.contains("config.lock"), "{error}");
    assert!(lock.exists(), "another's lock is not ours to remove");
}

#[test]
fn the_file_is_the_first_of_the_list_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("1"), folder.path().join("2"));
    let listed = format!("{}:{}", one.display(), two.display());
    let target = |variables: &[(&str, &str)]| file::target(&Environment::of(variables));
    let both = [("KUBECONFIG", listed.as_str()), ("HOME", "/h")];
    assert_eq!(target(&both).unwrap(), two, "none is there: the last");
    fs::write(&one, "").unwrap();
    assert_eq!(target(&both).unwrap(), one);
    assert_eq!(target(&both[1..]).unwrap(), std::path::Path::new("/h/.kube/config"));
    assert!(matches!(target(&[]), Err(Error::NoTarget)));
}

#[test]
fn each_member_gets_a_context_with_the_hosts_ca_and_user() {
    let mut kubeconfig = host();
    let names = [ClusterName::new("east").unwrap(), ClusterName::new("west").unwrap()];
    add_members(&mut kubeconfig, "https://127.0.0.1:6443", &names.iter().collect::<Vec<_>>());
    let read = Kubeconfig::from_yaml(&merge::render(&kubeconfig).unwrap()).unwrap();
    let west = read.clusters.iter().find(|cluster| cluster.name == "orrery-west").unwrap().cluster.as_ref().unwrap();
    assert_eq!(west.server.as_deref(), Some("https://127.0.0.1:6443/clusters/west"));
    assert_eq!(west.certificate_authority_data.as_deref(), Some("Q0E="));
    let context = read.contexts.iter().find(|context| context.name == "orrery-east").unwrap().context.as_ref().unwrap();
    assert_eq!((context.cluster.as_str(), context.user.as_deref()), ("orrery-east", Some("orrery-admin")));
    assert_eq!(read.current_context.as_deref(), Some("orrery"));
}

#[tokio::test]
async fn without_a_host_the_error_says_how_to_start_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let environment = Environment::of(&[("ORRERY_DATA", data)]);
    let args = KubeconfigArgs { members: false, merge: false, data: DataArgs::default() };
    let error = args.clone().run(&environment, &mut Vec::new()).await.unwrap_err().to_string();
    assert!(error.contains(&format!("start one with `orrery serve --data {data}`")), "{error}");
    fs::write(folder.path().join("kubeconfig"), HOST).unwrap();
    let mut out = Vec::new();
    args.run(&environment, &mut out).await.unwrap();
    assert_eq!(merge::parse(&String::from_utf8(out).unwrap()).unwrap(), host());
}
