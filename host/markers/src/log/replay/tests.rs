use orrery_api::{Naming, ObjectKey};

use super::*;
use crate::{Digest, Log, Marker, UnixMicros};

fn east() -> ClusterName {
    ClusterName::new("east").unwrap()
}

fn version(number: u64) -> MemberVersion {
    MemberVersion::from_number(number)
}

fn change(uid: &str, at: u64, kind: ChangeKind) -> Change {
    let key = ObjectKey::new("a", &format!("pod-{uid}"));
    Change { key, uid: Uid::new(uid), version: version(at), digest: Digest::new(1, at), kind, terminating: false }
}

/// A log that has followed east from version 10, where it held object 1 of version 9: it was changed at 11, 2 came at 12,
/// and both went at 13. The replay begins at 10.
fn replay() -> Replay {
    let mut log = Log::new(Naming::Unique);
    let mut effects = Vec::new();
    log.begin_term(UnixMicros(1000), &mut effects);
    log.relisted(&east(), version(10), &[change("1", 9, ChangeKind::Added)], &mut effects);
    log.joined(&east(), "uid".into(), &mut effects);
    let part = log.cluster(&east()).unwrap();
    let records = watched().into_iter().zip(2000..).map(|(change, marker)| Record::Change {
        marker: Marker::new(marker).unwrap(),
        cluster: east(),
        change,
    });
    Replay::new(part, &records.collect::<Vec<_>>(), &east(), version(10))
}

fn watched() -> [Change; 4] {
    [
        change("1", 11, ChangeKind::Modified),
        change("2", 12, ChangeKind::Added),
        change("1", 13, ChangeKind::Deleted),
        change("2", 13, ChangeKind::Deleted),
    ]
}

#[test]
fn the_recorded_history_gives_each_record_its_body_and_then_new_events() {
    let mut replay = replay();
    assert_eq!(replay.list(version(10), &[change("1", 9, ChangeKind::Added)]), Ok(vec![true]));
    for event in watched() {
        assert!(!replay.is_done());
        assert_eq!(replay.event(&event), Ok(Step::Recorded));
    }
    assert!(replay.is_done());
    assert_eq!(replay.event(&change("3", 14, ChangeKind::Added)), Ok(Step::New));
}

#[test]
fn deletions_that_share_a_version_may_come_in_any_order() {
    let mut replay = replay();
    let [first, second, one, other] = watched();
    for event in [first, second, other, one] {
        assert_eq!(replay.event(&event), Ok(Step::Recorded));
    }
    assert!(replay.is_done());
}

#[test]
fn a_list_with_another_object_another_content_or_one_less_is_another_history() {
    let listed = change("1", 9, ChangeKind::Added);
    let other_content = Change { digest: Digest::new(1, 77), ..listed.clone() };
    let later = change("1", 10, ChangeKind::Added);
    for list in [vec![], vec![other_content], vec![later], vec![listed.clone(), change("7", 8, ChangeKind::Added)]] {
        assert!(replay().list(version(10), &list).is_err(), "{list:?}");
    }
    let unlike_scheme = Change { digest: Digest::new(2, 77), ..listed };
    assert_eq!(replay().list(version(10), &[unlike_scheme]), Ok(vec![true]), "read by another version of the server");
}

#[test]
fn a_watch_that_passes_a_recorded_version_without_its_change_is_another_history() {
    assert!(replay().event(&change("2", 12, ChangeKind::Added)).is_err());
    assert!(replay().progress(version(12)).is_err());
    assert!(replay().progress(version(11)).is_ok(), "its change may still come");
}

#[test]
fn an_event_that_the_log_passed_without_or_with_another_content_is_another_history() {
    let [first, ..] = watched();
    assert!(replay().event(&Change { digest: Digest::new(1, 77), ..first.clone() }).is_err());
    let mut replay = replay();
    replay.event(&first).unwrap();
    assert!(replay.event(&change("9", 11, ChangeKind::Added)).is_err());
}
