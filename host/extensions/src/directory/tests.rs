use std::fs;
use std::time::Instant;

use tempfile::TempDir;

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

fn policy(name: &str) -> String {
    format!(
        "apiVersion: orrery.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {{name: {name}}}\n\
         spec: {{stages: [{{stage: taints}}]}}\n"
    )
}

fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(dir.path().join(name), text).unwrap());
    dir
}

fn names(policies: &Policies) -> String {
    policies.all().iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>().join(" ")
}

fn open(directory: &Path) -> Result<Extensions, OpenError> {
    let registry = Registry::start(None, Metrics::default()).unwrap();
    Extensions::open(directory, registry, Metrics::default())
}

/// A directory that is looked at when the test says so.
struct Looked {
    dir: TempDir,
    extensions: Extensions,
}

// === impl Looked ===

impl Looked {
    fn open(files: &[(&str, &str)]) -> Self {
        let dir = directory(files);
        let extensions = open(dir.path()).unwrap();
        Self { dir, extensions }
    }

    fn write(&self, name: &str, text: &str) {
        let scratch = self.dir.path().join("scratch");
        fs::write(&scratch, text).unwrap();
        fs::rename(scratch, self.dir.path().join(name)).unwrap();
    }

    /// What is used once the files have settled.
    fn settled(&mut self) -> String {
        (0..=QUIET_LOOKS).for_each(|_| drop(self.extensions.look()));
        self.used()
    }

    fn used(&self) -> String {
        names(&self.extensions.policies)
    }

    fn metrics(&self) -> String {
        let mut registry = prometheus_client::registry::Registry::default();
        self.extensions.metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }
}

#[test]
fn files_join_change_and_leave() {
    let mut looked = Looked::open(&[("a.yaml", &policy("x"))]);
    assert_eq!(looked.used(), "x");
    looked.write("b.yaml", &policy("y"));
    assert_eq!(looked.settled(), "x y");
    looked.write("a.yaml", &policy("z"));
    assert_eq!(looked.settled(), "y z");
    fs::remove_file(looked.dir.path().join("b.yaml")).unwrap();
    assert_eq!(looked.settled(), "z");
}

#[test]
fn a_wrong_file_keeps_what_it_said_and_is_counted_until_it_is_right() {
    let mut looked = Looked::open(&[("a.yaml", &policy("x"))]);
    looked.write("a.yaml", "kind: [");
    looked.write("b.yaml", &policy("y"));
    assert_eq!(looked.settled(), "x y");
    let metrics = looked.metrics();
    assert!(metrics.contains("orrery_extensions_files{state=\"refused\"} 1"), "{metrics}");
    assert!(metrics.contains("orrery_extensions_failures_total 1"), "{metrics}");
    assert_eq!(looked.settled(), "x y");
    assert!(looked.metrics().contains("orrery_extensions_failures_total 1"), "it is not read again and again");
    looked.write("a.yaml", &policy("z"));
    assert_eq!(looked.settled(), "y z");
    let metrics = looked.metrics();
    assert!(metrics.contains("orrery_extensions_files{state=\"refused\"} 0"), "{metrics}");
    assert!(metrics.contains("orrery_extensions_policies 2"), "{metrics}");
}

#[test]
fn a_file_that_changes_between_two_looks_is_not_read_yet() {
    let mut looked = Looked::open(&[]);
    for name in ["x", "y", "z"].iter().cycle().take(15) {
        looked.write("a.yaml", &policy(name));
        looked.extensions.look();
        assert_eq!(looked.used(), "");
    }
    assert_eq!(looked.settled(), "z");
}

#[test]
fn a_file_that_is_put_in_place_is_read_at_the_next_look_and_one_that_is_written_once_it_is_quiet() {
    let mut looked = Looked::open(&[("a.yaml", &policy("x"))]);
    looked.write("a.yaml", &policy("y"));
    looked.extensions.look();
    looked.extensions.look();
    assert_eq!(looked.used(), "y");
    // In pieces, each after some looks: what stands between is a right file, and not the one that is meant.
    let path = looked.dir.path().join("a.yaml");
    for part in [policy("z"), format!("---\n{}", policy("w"))] {
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        if part.starts_with("apiVersion") {
            file.set_len(0).unwrap();
        }
        std::io::Write::write_all(&mut file, part.as_bytes()).unwrap();
        for _ in 0..QUIET_LOOKS {
            looked.extensions.look();
            assert_eq!(looked.used(), "y");
        }
    }
    assert_eq!(looked.settled(), "w z");
}

#[test]
fn a_file_that_is_gone_for_a_moment_is_not_forgotten() {
    let mut looked = Looked::open(&[("a.yaml", &policy("x"))]);
    fs::remove_file(looked.dir.path().join("a.yaml")).unwrap();
    looked.extensions.look();
    looked.write("a.yaml", &policy("y"));
    looked.extensions.look();
    assert_eq!(looked.used(), "x");
    assert_eq!(looked.settled(), "y");
}

#[test]
fn a_directory_that_cannot_be_read_changes_nothing_and_is_read_again_when_it_can() {
    let mut looked = Looked::open(&[("a.yaml", &policy("x"))]);
    let (place, aside) = (looked.dir.path().to_owned(), looked.dir.path().with_extension("aside"));
    fs::rename(&place, &aside).unwrap();
    assert_eq!((looked.settled(), looked.settled()), ("x".to_owned(), "x".to_owned()));
    assert!(looked.metrics().contains("orrery_extensions_failures_total 1"), "it is said once");
    fs::rename(&aside, &place).unwrap();
    looked.write("a.yaml", &policy("y"));
    assert_eq!(looked.settled(), "y");
}

#[test]
fn at_the_start_a_wrong_file_is_an_error_that_says_where_and_what_to_do() {
    let wrong = |files: &[(&str, &str)]| {
        let dir = directory(files);
        let error = open(dir.path()).err().unwrap();
        let text = format!("{error}: {}", error.source().unwrap());
        text.replace(&format!("{}/", dir.path().display()), "")
    };
    let misspelt = policy("x").replace("stages", "stage");
    assert_eq!(
        wrong(&[("a.yaml", &policy("a")), ("b.yaml", &misspelt)]),
        "extension file b.yaml cannot be used: line 4, column 8: unknown key `stage`; did you mean `stages`?"
    );
    assert_eq!(
        wrong(&[("a.yaml", &policy("x")), ("b.yaml", &policy("x"))]),
        "extension file b.yaml cannot be used: ClusterPlacementPolicy x stands in a.yaml already; \
         give one of the two another name, or delete it"
    );
    let missing = open(Path::new("no/such/directory")).err().unwrap().to_string();
    assert!(missing.contains("no/such/directory cannot be read; make it"), "{missing}");
}

#[tokio::test]
async fn what_is_written_is_used_while_the_directory_is_followed() {
    let dir = directory(&[]);
    let extensions = open(dir.path()).unwrap();
    let (policies, stop) = (extensions.policies(), CancellationToken::new());
    let following = tokio::spawn(extensions.follow(stop.clone()));
    fs::write(dir.path().join("a.yaml"), policy("x")).unwrap();
    let written = Instant::now();
    while names(&policies) != "x" {
        assert!(written.elapsed() < LIMIT, "it is not used after {:?}", written.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.cancel();
    following.await.unwrap();
}
