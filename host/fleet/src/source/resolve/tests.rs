use std::fmt::Write as _;

use orrery_api::placement::Label;

use super::*;

/// A kubeconfig file with these (context, server) pairs, the first of them current.
fn kubeconfig(dir: &Path, file: &str, contexts: &[(&str, &str)]) -> PathBuf {
    let mut text = format!("apiVersion: v1\nkind: Config\ncurrent-context: {:?}\n", contexts[0].0);
    let section = |text: &mut String, title: &str, entry: &dyn Fn(&str, &str) -> String| {
        writeln!(text, "{title}:").unwrap();
        for (context, server) in contexts {
            writeln!(text, "- {}", entry(context, server)).unwrap();
        }
    };
    section(&mut text, "contexts", &|context, _| {
        format!("{{name: {context:?}, context: {{cluster: {context:?}, user: u}}}}")
    });
    section(&mut text, "clusters", &|context, server| {
        format!("{{name: {context:?}, cluster: {{server: {server:?}}}}}")
    });
    text.push_str("users:\n- {name: u, user: {token: t}}\n");
    let path = dir.join(file);
    std::fs::write(&path, text).unwrap();
    path
}

fn resolved(flags: &MemberFlags) -> Vec<String> {
    let specs = flags.resolve().unwrap();
    specs.iter().map(|spec| format!("{} {}", spec.name, spec.context.as_deref().unwrap_or("-"))).collect()
}

#[test]
fn contexts_come_before_members_and_without_any_the_current_one_is_the_fleet() {
    let dir = tempfile::tempdir().unwrap();
    let one = kubeconfig(dir.path(), "one", &[("East", "https://e"), ("west", "https://w")]);
    let two = kubeconfig(dir.path(), "two", &[("x", "https://x"), ("y", "https://y")]);
    let flags = MemberFlags { kubeconfig: vec![one], ..MemberFlags::default() };
    assert_eq!(resolved(&flags), ["east East"]);
    let members = vec![format!("a={}", two.display()), format!("b={}#y", two.display())];
    let flags = MemberFlags { all_contexts: true, members, ..flags };
    assert_eq!(resolved(&flags), ["east East", "west west", "a x", "b y"]);
}

#[test]
fn files_are_merged_and_the_earlier_holds() {
    let dir = tempfile::tempdir().unwrap();
    let one = kubeconfig(dir.path(), "one", &[("a", "https://a")]);
    let two = kubeconfig(dir.path(), "two", &[("b", "https://b")]);
    let flags = MemberFlags { kubeconfig: vec![one, two], all_contexts: true, ..MemberFlags::default() };
    assert_eq!(resolved(&flags), ["a a", "b b"]);
}

#[test]
fn where_two_names_meet_each_gets_six_hex_digits_whatever_the_order() {
    let dir = tempfile::tempdir().unwrap();
    let names = |contexts: &[(&str, &str)]| {
        let file = kubeconfig(dir.path(), "k", contexts);
        let flags = MemberFlags { kubeconfig: vec![file], all_contexts: true, ..MemberFlags::default() };
        let mut names = resolved(&flags);
        names.sort();
        names
    };
    let names_made = names(&[("a_b", "https://1"), ("a.b", "https://2"), ("c", "https://3")]);
    assert_eq!(names_made, names(&[("c", "https://3"), ("a.b", "https://2"), ("a_b", "https://1")]));
    assert!(names_made[0].starts_with("a-b-") && names_made[1].starts_with("a-b-") && names_made[0] != names_made[1]);
    assert_eq!(names_made[0].split(' ').next().unwrap().len(), "a-b-".len() + 6);
}

#[test]
fn two_contexts_of_one_cluster_are_an_error_that_names_both() {
    let dir = tempfile::tempdir().unwrap();
    let file = kubeconfig(dir.path(), "k", &[("admin", "https://same/"), ("viewer", "https://same")]);
    let flags = MemberFlags { kubeconfig: vec![file], all_contexts: true, ..MemberFlags::default() };
    let error = flags.resolve().unwrap_err().to_string();
    assert!(error.contains("admin") && error.contains("viewer") && error.contains("https://same"), "{error}");
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let dir = tempfile::tempdir().unwrap();
    let file = kubeconfig(dir.path(), "k", &[("east", "https://e")]);
    let flags = MemberFlags { kubeconfig: vec![file], contexts: vec!["wets".to_owned()], ..MemberFlags::default() };
    let error = flags.resolve().unwrap_err().to_string();
    assert!(error.contains("wets") && error.contains("east"), "{error}");
    for member in ["a", "a=", "a=f#", "A=f"] {
        assert!(
            MemberFlags { members: vec![member.to_owned()], ..MemberFlags::default() }.resolve().is_err(),
            "{member}"
        );
    }
}

#[test]
fn members_have_the_labels_and_taints_of_their_names_whatever_they_come_from() {
    let dir = tempfile::tempdir().unwrap();
    let file = kubeconfig(dir.path(), "k", &[("East", "https://e"), ("west", "https://w")]);
    let flags = |name: &str| MemberFlags {
        kubeconfig: vec![file.clone()],
        contexts: vec!["East".to_owned()],
        members: vec![format!("edge={}#west", file.display())],
        attributes: BTreeMap::from([(ClusterName::new(name).unwrap(), attributes("region", "eu"))]),
        ..MemberFlags::default()
    };
    let regions = |name: &str| -> Vec<Option<String>> {
        let specs = flags(name).resolve().unwrap();
        specs.iter().map(|spec| spec.attributes.labels.get("region").cloned()).collect()
    };
    assert_eq!(regions("east"), [Some("eu".to_owned()), None]);
    assert_eq!(regions("edge"), [None, Some("eu".to_owned())]);
    let wrong = |name: &str| flags(name).resolve().unwrap_err().to_string();
    assert_eq!(wrong("esat"), "labels or taints are given to esat, which is no member; did you mean east?");
    assert_eq!(wrong("north"), "labels or taints are given to north, which is no member; members are east, edge");
}

fn attributes(key: &str, value: &str) -> Arc<ClusterAttributes> {
    let label = Label::new(key, value).unwrap();
    Arc::new(ClusterAttributes { labels: [label].into_iter().collect(), taints: Vec::new() })
}
