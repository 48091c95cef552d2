//! Writer, readers and the settling thread at the same time.

use super::*;

const CHANGES: u64 = 4000;
const KEYS: u64 = 40;

/// Reads until the head is `last`, and gives what the watch says there is then: key and marker.
async fn fold(mut watch: Watch, last: Marker) -> BTreeMap<ObjectKey, Marker> {
    let (mut state, mut at) = (BTreeMap::new(), marker(10));
    while watch.position() < last {
        let Step::Events(events) = watch.next().await else { panic!("the watch ended at {at}") };
        for WatchEvent { kind, marker, object } in events {
            assert!(marker > at, "{marker} after {at}");
            assert_eq!(object.marker(), marker);
            at = marker;
            match kind {
                ChangeKind::Deleted => assert!(state.remove(object.served()).is_some()),
                ChangeKind::Modified => assert!(state.insert(object.served().clone(), marker).is_some()),
                ChangeKind::Added => assert!(state.insert(object.served().clone(), marker).is_none()),
            }
        }
    }
    state
}

fn write(writer: &mut Writer, now: Instant) {
    for number in 0..CHANGES {
        let key = ObjectKey::new(if number % 3 == 0 { "a" } else { "b" }, &format!("pod-{}", number * 7 % KEYS));
        let at = 11 + number;
        let change = match writer.has(&key) && number % 5 == 0 {
            true => Apply::Delete { marker: marker(at), served: key },
            false => put(at, &key, if number % 2 == 0 { "web" } else { "db" }, "n"),
        };
        // Twenty changes a second: the first have aged when the last come, but none is trimmed.
        assert!(writer.apply(vec![change], now + Duration::from_millis(number * 50)).is_empty());
    }
    let last = marker(11 + CHANGES);
    writer.apply(vec![put(last.get(), &ObjectKey::new("a", "last"), "web", "n")], now);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_beside_a_writer_and_a_settling_thread_miss_nothing() {
    let (mut writer, reader, _) = cache(1 << 30);
    let now = Instant::now();
    let last = marker(11 + CHANGES);
    let selections = || [Selection::everything(), selection(Some("a"), ""), selection(None, "app=web")];
    let watches = selections().map(|selection| tokio::spawn(fold(reader.watch(marker(10), selection).unwrap(), last)));
    let settling = reader.clone();
    let settling = std::thread::spawn(move || {
        while settling.head() < last {
            settling.settle(now + Duration::from_secs(200));
            let back = Marker::new(settling.head().get().saturating_sub(50).max(10)).unwrap();
            let snapshot = settling.at(back).unwrap();
            assert!(snapshot.range(None, None).all(|object| object.marker() <= back));
        }
    });
    let writing = std::thread::spawn(move || {
        write(&mut writer, now);
        writer
    });
    let found = joined(watches).await;
    settling.join().unwrap();
    let _writer = writing.join().unwrap();
    for (selection, found) in selections().into_iter().zip(found) {
        let latest = reader.latest();
        let expected = latest.range(None, None).filter(|object| selection.selects(object));
        let expected: BTreeMap<_, _> = expected.map(|object| (object.served().clone(), object.marker())).collect();
        assert_eq!(found, expected);
    }
}

async fn joined(
    watches: [tokio::task::JoinHandle<BTreeMap<ObjectKey, Marker>>; 3],
) -> Vec<BTreeMap<ObjectKey, Marker>> {
    let mut found = Vec::new();
    for watch in watches {
        let folded = tokio::time::timeout(Duration::from_secs(60), watch).await;
        found.push(folded.expect("the watches reach the end").unwrap());
    }
    found
}
