//! A process that is killed while it appends.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use orrery_markers::{MarkerStore, SegmentSeq};

use super::super::{check_segments, open, segment};

const DIR: &str = "ORRERY_TEST_KILL_DIR";
const LOGS: [&str; 3] = ["pods.v1", "nodes.v1", "events.v1"];
const BYTES: usize = 3000;

/// The process that is killed: appends to several logs at once, and tells each acknowledged segment on its output.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_appends_until_it_is_killed() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let store = Arc::new(open(&dir).unwrap());
    let writers = LOGS.map(|name| {
        let store = store.clone();
        tokio::spawn(async move {
            let first = store.load(name).await.unwrap().segments.len() as u64 + 1;
            for seq in first.. {
                store.append(name, &segment(name, seq, BYTES)).await.unwrap();
                write_line(&format!("acknowledged {name} {seq}"));
                if name == "events.v1" && seq % 50 == 0 {
                    // At a log of its own, so that the kill also falls into folds.
                    let made = store.load("folded.v1").await.unwrap().checkpoint.map_or(0, |(upto, _)| upto.0) + 1;
                    store.append("folded.v1", &segment("folded.v1", made, BYTES)).await.unwrap();
                    store.fold("folded.v1", SegmentSeq(made), vec![vec![made as u8; 700_000].into(); 4]).await.unwrap();
                    write_line(&format!("acknowledged folded.v1 {made}"));
                }
            }
        })
    });
    for writer in writers {
        writer.await.unwrap();
    }
}

/// Past the capture of the test harness, and in one write.
fn write_line(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn spawn_child(dir: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "embedded::kill::child_that_appends_until_it_is_killed", "--nocapture"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Runs a child until it has told `lines` acknowledgements, kills it (SIGKILL), and returns the last of each log.
fn kill_after(dir: &std::path::Path, lines: usize) -> std::collections::HashMap<String, u64> {
    let mut child = spawn_child(dir);
    let out = BufReader::new(child.stdout.take().unwrap());
    let mut last = std::collections::HashMap::new();
    let mut killed = false;
    let mut told = 0;
    // After the kill the pipe still has what was told before it.
    for line in out.lines() {
        let line = line.unwrap();
        if let Some(at) = line.find("acknowledged ") {
            let mut words = line[at..].split_whitespace().skip(1);
            if let (Some(name), Some(seq)) = (words.next(), words.next()) {
                last.insert(name.to_owned(), seq.parse().unwrap());
            }
            told += 1;
        }
        if told >= lines && !killed {
            child.kill().unwrap();
            killed = true;
        }
    }
    child.wait().unwrap();
    assert!(killed, "the child ended by itself");
    last
}

#[tokio::test]
async fn every_acknowledged_segment_is_there_after_a_kill_in_the_middle_of_appends() {
    let dir = tempfile::tempdir().unwrap();
    for lines in [1, 2, 7, 40, 151, 400, 1009] {
        let acknowledged = kill_after(dir.path(), lines);
        let store = open(dir.path()).expect("a killed host's file opens");
        for name in LOGS {
            let found = check_segments(&store, name, BYTES).await;
            let told = acknowledged.get(name).copied().unwrap_or(0);
            assert!(found >= told, "{name}: {told} acknowledged, {found} found");
        }
        let (upto, parts) = store.load("folded.v1").await.unwrap().checkpoint.unwrap_or_default();
        assert!(upto.0 >= acknowledged.get("folded.v1").copied().unwrap_or(0));
        assert!(parts.iter().all(|part| part.len() == 700_000 && part.iter().all(|byte| *byte == upto.0 as u8)));
        assert!(parts.len() == 4 || upto.0 == 0);
    }
}
