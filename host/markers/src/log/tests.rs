use orrery_api::{ClusterName, Naming, ObjectKey, Uid};

use super::*;
use crate::{Digest, StoredLog};

fn cluster(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("a", name)
}

fn change(name: &str, uid: &str, version: u64, kind: ChangeKind) -> Change {
    let version = MemberVersion::from_number(version);
    let digest = Digest::new(1, version.number());
    Change { key: key(name), uid: Uid::new(uid), version, digest, kind, terminating: false }
}

/// A log with a term at 1000 that the named clusters have joined, holding nothing, at version 10.
fn joined(naming: Naming, clusters: &[&str]) -> Log {
    let mut log = Log::new(naming);
    let mut effects = Vec::new();
    log.begin_term(UnixMicros(1000), &mut effects);
    for name in clusters {
        log.relisted(&cluster(name), MemberVersion::from_number(10), &[], &mut effects);
        log.joined(&cluster(name), Arc::from(*name), &mut effects);
    }
    log
}

/// What readers see of one change: for each effect its marker's distance to the head before, and the event.
fn sees(log: &mut Log, name: &str, change: Change) -> Vec<String> {
    let head = log.head().unwrap().get();
    let mut effects = Vec::new();
    log.change(&cluster(name), change, &mut effects);
    effects.iter().map(|effect| format!("+{} {}", effect.marker.get() - head, sight(&effect.what))).collect()
}

fn sight(sight: &Sight) -> String {
    match sight {
        Sight::Show { served, cluster, kind, holders, content, .. } => {
            let holders = holders.as_ref().map(|holders| {
                format!(" of {}", holders.iter().map(ClusterName::as_str).collect::<Vec<_>>().join(","))
            });
            format!("{kind:?} {served} from {cluster} {content:?}{}", holders.unwrap_or_default())
        }
        Sight::Delete { served } => format!("Deleted {served}"),
        Sight::Hold { cluster, key } => format!("hold {key} of {cluster}"),
        Sight::Nothing => "nothing".to_owned(),
    }
}

#[test]
fn a_term_starts_at_the_time_or_after_the_head_whichever_is_later() {
    let mut log = joined(Naming::Unique, &[]);
    assert_eq!(log.head().unwrap().get(), 1000);
    log.begin_term(UnixMicros(500), &mut Vec::new());
    assert_eq!(log.head().unwrap().get(), 1001, "the clock was set back");
    log.begin_term(UnixMicros(9000), &mut Vec::new());
    let known = |marker| log.contains(Marker::new(marker).unwrap());
    assert_eq!([999, 1000, 1001, 1002, 8999, 9000, 9001].map(known), [false, true, true, false, false, true, false]);
}

#[test]
fn the_second_claimant_of_a_name_is_served_under_its_clusters_name_too() {
    let mut log = joined(Naming::Unique, &["east", "west"]);
    assert_eq!(sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added)), ["+1 Added a/web from east Changed"]);
    let second = sees(&mut log, "west", change("web", "2", 11, ChangeKind::Added));
    assert_eq!(second, ["+1 nothing", "+2 Added a/web.west from west Changed"]);
    assert_eq!(log.owner(&key("web.west")), Some((cluster("west"), key("web"))));
    assert_eq!(
        sees(&mut log, "west", change("web", "2", 12, ChangeKind::Modified)),
        ["+1 Modified a/web.west from west Changed"]
    );
}

#[test]
fn a_name_stays_its_clusters_after_the_deletion_until_that_is_forgotten() {
    let mut log = joined(Naming::Unique, &["east", "west"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    assert_eq!(sees(&mut log, "east", change("web", "1", 12, ChangeKind::Deleted)), ["+1 Deleted a/web"]);
    assert_eq!(
        sees(&mut log, "west", change("web", "2", 11, ChangeKind::Added)).last().unwrap(),
        "+2 Added a/web.west from west Changed"
    );
    log.expire(log.head().unwrap(), &mut Vec::new());
    assert_eq!(log.owner(&key("web")), None);
    let again = sees(&mut log, "east", change("web", "3", 13, ChangeKind::Added));
    assert_eq!(again, ["+1 Added a/web from east Changed"]);
}

#[test]
fn qualified_names_always_have_their_cluster_and_a_taken_one_has_a_hash_too() {
    let mut log = joined(Naming::Unique, &["east", "west"]);
    sees(&mut log, "east", change("web.west", "1", 11, ChangeKind::Added));
    sees(&mut log, "east", change("web", "2", 12, ChangeKind::Added));
    sees(&mut log, "west", change("web", "3", 11, ChangeKind::Added));
    let served = log.served(&cluster("west"), &key("web")).unwrap();
    assert!(
        served.name.starts_with("web-")
            && served.name.ends_with(".west")
            && served.name.len() == "web-123456.west".len(),
        "{served}"
    );

    let mut log = joined(Naming::Qualified, &["east"]);
    assert_eq!(
        sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added)).last().unwrap(),
        "+2 Added a/web.east from east Changed"
    );
}

#[test]
fn a_replaced_object_is_deleted_before_the_new_one_is_added_and_an_older_one_changes_nothing() {
    let mut log = joined(Naming::Unique, &["east"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    let replaced = sees(&mut log, "east", change("web", "2", 13, ChangeKind::Added));
    assert_eq!(replaced, ["+1 Deleted a/web", "+2 Added a/web from east Changed"]);
    assert_eq!(sees(&mut log, "east", change("web", "0", 12, ChangeKind::Added)), [""; 0]);
}

#[test]
fn changes_that_share_a_version_are_each_told_once() {
    let mut log = joined(Naming::Unique, &["east"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    sees(&mut log, "east", change("db", "2", 12, ChangeKind::Added));
    let deletions =
        ["web", "db"].into_iter().zip(["1", "2"]).map(|(name, uid)| change(name, uid, 13, ChangeKind::Deleted));
    for deletion in deletions {
        assert_eq!(sees(&mut log, "east", deletion.clone()).len(), 1);
        assert_eq!(sees(&mut log, "east", deletion), [""; 0], "it came again");
    }
    let clock = log.cluster(&cluster("east")).unwrap().clock().unwrap();
    assert_eq!((clock.complete.number(), clock.latest.number()), (12, 13), "more may share the last version");
}

#[test]
fn a_lists_differences_take_the_second_of_two_markers_deletions_first() {
    let mut log = joined(Naming::Unique, &["east"]);
    for (name, uid, version) in [("a", "1", 11), ("b", "2", 12), ("z", "3", 13)] {
        sees(&mut log, "east", change(name, uid, version, ChangeKind::Added));
    }
    let head = log.head().unwrap().get();
    let listed = [change("a", "1", 15, ChangeKind::Added), change("b", "2", 12, ChangeKind::Added)];
    let mut effects = Vec::new();
    log.relisted(&cluster("east"), MemberVersion::from_number(20), &listed, &mut effects);
    let told: Vec<_> =
        effects.iter().map(|effect| format!("+{} {}", effect.marker.get() - head, sight(&effect.what))).collect();
    assert_eq!(told, ["+1 nothing", "+2 Deleted a/z", "+3 nothing", "+4 Modified a/a from east Changed"]);
    let clock = log.cluster(&cluster("east")).unwrap().clock().unwrap();
    assert_eq!((clock.complete.number(), clock.latest.number()), (20, 20));
}

#[test]
fn one_name_in_several_clusters_is_shown_once_with_its_holders_and_passes_on() {
    let mut log = joined(Naming::Same, &["east", "west"]);
    let shown = |log: &mut Log, name, change| sees(log, name, change);
    assert_eq!(
        shown(&mut log, "east", change("web", "1", 11, ChangeKind::Added)),
        ["+1 Added a/web from east Changed of east"]
    );
    let held = shown(&mut log, "west", change("web", "2", 11, ChangeKind::Added));
    assert_eq!(held, ["+1 hold a/web of west", "+1 Modified a/web from east Kept of east,west"]);
    assert_eq!(
        shown(&mut log, "west", change("web", "2", 12, ChangeKind::Modified)),
        ["+1 hold a/web of west", "+1 nothing"]
    );
    let passed = shown(&mut log, "east", change("web", "1", 12, ChangeKind::Deleted));
    assert_eq!(passed, ["+1 Deleted a/web", "+2 Added a/web from west Kept of west"]);
    assert_eq!(shown(&mut log, "west", change("web", "2", 13, ChangeKind::Deleted)), ["+1 Deleted a/web"]);
}

#[test]
fn the_last_state_stays_shown_while_the_other_holders_are_on_their_way_out() {
    let mut log = joined(Naming::Same, &["east", "west"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    let terminating = Change { terminating: true, ..change("web", "2", 11, ChangeKind::Added) };
    sees(&mut log, "west", terminating);
    let gone = sees(&mut log, "east", change("web", "1", 12, ChangeKind::Deleted));
    assert_eq!(gone, ["+1 Modified a/web from east Kept of west"]);
    assert_eq!(sees(&mut log, "west", change("web", "2", 12, ChangeKind::Deleted)), ["+1 Deleted a/web"]);
}

#[test]
fn a_name_shown_from_a_cluster_that_is_away_passes_to_one_that_is_there() {
    let mut log = joined(Naming::Same, &["east", "west"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    sees(&mut log, "east", change("db", "3", 12, ChangeKind::Added));
    sees(&mut log, "west", change("web", "2", 11, ChangeKind::Added));
    log.away(&cluster("east"), &mut Vec::new());
    let mut effects = Vec::new();
    log.pass_on(|_| false, &mut effects);
    assert_eq!(
        effects.iter().map(|effect| sight(&effect.what)).collect::<Vec<_>>(),
        ["Added a/web from west Kept of east,west"]
    );
    let appears = sees(&mut log, "west", change("db", "4", 12, ChangeKind::Added));
    assert_eq!(appears, ["+1 hold a/db of west", "+1 nothing", "+2 Added a/db from west Kept of east,west"]);
}

#[test]
fn the_name_of_a_last_state_is_that_of_a_holder_which_is_left() {
    let mut log = joined(Naming::Same, &["east", "west"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    sees(&mut log, "west", Change { terminating: true, ..change("web", "2", 11, ChangeKind::Added) });
    sees(&mut log, "east", change("web", "1", 12, ChangeKind::Deleted));
    log.away(&cluster("west"), &mut Vec::new());
    let mut effects = Vec::new();
    log.pass_on(|_| false, &mut effects);
    assert_eq!(effects, []);
    assert!(log.shows_last_state(&key("web")));
    assert_eq!(log.held(), [(cluster("west"), key("web"))]);
    assert_eq!(log.owner(&key("web")), Some((cluster("west"), key("web"))));
}

/// A start may have bodies from there on only.
#[test]
fn between_a_deletion_and_its_claim_what_is_left_of_a_name_is_held() {
    let mut log = joined(Naming::Same, &["east", "west"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    sees(&mut log, "west", change("web", "2", 11, ChangeKind::Added));
    assert_eq!(log.held(), [(cluster("west"), key("web"))]);
    let marker = log.head().unwrap().next();
    let deletion = change("web", "1", 12, ChangeKind::Deleted);
    log.replay(Record::Change { marker, cluster: cluster("east"), change: deletion }, &mut Vec::new());
    assert_eq!(log.shown(), []);
    assert_eq!(log.held(), [(cluster("west"), key("web"))]);
}

#[test]
fn what_was_looked_at_is_sequenced_once_and_leaves_the_clock_where_the_stream_is() {
    let mut log = joined(Naming::Unique, &["east"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    let clock = log.cluster(&cluster("east")).unwrap().clock();
    let mut looked = |change| {
        let mut effects = Vec::new();
        log.looked(&cluster("east"), change, &mut effects);
        effects.iter().map(|effect| sight(&effect.what)).collect::<Vec<_>>()
    };
    let seen = change("web", "1", 20, ChangeKind::Modified);
    assert_eq!(looked(seen.clone()), ["nothing", "Modified a/web from east Changed"]);
    assert_eq!(looked(seen.clone()), [""; 0]);
    assert_eq!(looked(change("db", "2", 15, ChangeKind::Modified)), ["nothing", "Added a/db from east Changed"]);
    let mut effects = Vec::new();
    log.lost(&cluster("east"), &Uid::new("2"), &mut effects);
    assert_eq!(effects.iter().map(|effect| sight(&effect.what)).collect::<Vec<_>>(), ["nothing", "Deleted a/db"]);
    assert_eq!(log.cluster(&cluster("east")).unwrap().clock(), clock);
    assert_eq!(sees(&mut log, "east", seen), [""; 0], "the stream brings it later");
    assert_eq!(sees(&mut log, "east", change("db", "2", 15, ChangeKind::Added)), [""; 0]);
}

#[test]
fn a_reserved_name_is_its_clusters_even_where_the_deletion_of_anothers_is_remembered() {
    let mut log = joined(Naming::Unique, &["east", "west"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    assert_eq!(log.reserve(&key("web"), &cluster("west")), Err(Taken::Living(cluster("east"))));
    sees(&mut log, "east", change("web", "1", 12, ChangeKind::Deleted));
    assert_eq!(log.reserve(&key("web"), &cluster("west")), Ok(()));
    assert_eq!(log.reserve(&key("web"), &cluster("east")), Err(Taken::InFlight));
    let other = sees(&mut log, "east", change("web", "2", 13, ChangeKind::Added));
    assert_eq!(other.last().unwrap(), "+2 Added a/web.east from east Changed", "it was quicker, and the name is taken");
    let own = sees(&mut log, "west", change("web", "3", 11, ChangeKind::Added));
    assert_eq!(own, ["+1 Added a/web from west Changed"]);
    log.release(&key("web"));
    assert_eq!(log.reserve(&key("web"), &cluster("west")), Err(Taken::Living(cluster("west"))));
}

#[test]
fn a_log_read_back_refuses_a_gap_and_a_marker_that_goes_back() {
    let mut log = joined(Naming::Unique, &["east"]);
    let mut segments = log.pack(UnixMicros(1000));
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    segments.extend(log.pack(UnixMicros(2000)));
    let recover = |segments: &[crate::Segment]| {
        let stored = StoredLog { checkpoint: None, segments: segments.to_vec() };
        Log::recover(&stored, Naming::Unique, std::time::Duration::ZERO).map(|recovered| recovered.log.head())
    };
    assert_eq!(recover(&segments).unwrap(), log.head());
    assert!(matches!(recover(&segments[1..]), Err(CorruptLog::Gap(_))));
    let again = crate::Segment { seq: segments[1].seq, bytes: segments[0].bytes.clone() };
    assert!(matches!(recover(&[segments[0].clone(), again]), Err(CorruptLog::Order(_))));
}

#[test]
fn a_last_state_of_a_cluster_that_left_is_deleted_before_another_object_takes_its_name() {
    let mut log = joined(Naming::Same, &["east", "west", "north"]);
    sees(&mut log, "east", change("web", "1", 11, ChangeKind::Added));
    sees(&mut log, "west", Change { terminating: true, ..change("web", "2", 11, ChangeKind::Added) });
    log.away(&cluster("north"), &mut Vec::new());
    let mut effects = Vec::new();
    log.left(&cluster("east"), &mut effects);
    let told: Vec<_> = effects.iter().map(|effect| sight(&effect.what)).collect();
    assert_eq!(told, ["Modified a/web from east Kept of west", "nothing"]);
    let mut effects = Vec::new();
    log.relisted(&cluster("north"), MemberVersion::from_number(12), &[], &mut effects);
    let came = sees(&mut log, "north", change("web", "3", 13, ChangeKind::Added));
    assert_eq!(came, ["+1 hold a/web of north", "+1 Deleted a/web", "+2 Added a/web from north Kept of west,north"]);
}
