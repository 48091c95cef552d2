use serde_json::json;

use super::*;

fn event(kind: &str, uid: &str, name: &str, version: u64) -> Value {
    let metadata = json!({"name": name, "uid": uid, "resourceVersion": version.to_string()});
    json!({"type": kind, "object": {"metadata": metadata, "data": {"version": version}}})
}

/// Tells a recording of nothing at version 10 these events, and gives what is wrong with the last one.
fn last_fault(events: &[Value]) -> Option<String> {
    let mut recording = Recording { at: 10, ..Recording::default() };
    let mut last = recording.at;
    let (end, before) = events.split_last().unwrap();
    for event in before {
        recording.told(event, &mut last).unwrap();
    }
    recording.told(end, &mut last).err().map(|broken| broken.to_string())
}

#[test]
fn events_that_keep_the_laws_are_followed() {
    let events = [
        event("ADDED", "a", "first", 11),
        event("MODIFIED", "a", "first", 13),
        event("BOOKMARK", "", "", 13),
        event("DELETED", "a", "first", 14),
        event("ADDED", "b", "first", 15),
    ];
    assert_eq!(last_fault(&events), None);
}

#[test]
fn each_broken_law_is_a_fault() {
    let added = event("ADDED", "a", "first", 11);
    for (broken, fault) in [
        (event("MODIFIED", "a", "first", 11), "an event of 11 after 11"),
        (event("MODIFIED", "a", "first", 9), "an event of 9 after 11"),
        (event("BOOKMARK", "", "", 10), "a bookmark of 10 after 11"),
        (event("MODIFIED", "b", "second", 12), "b was not there"),
        (event("DELETED", "b", "second", 12), "b was not there"),
        (event("ADDED", "b", "first", 12), "its name is another object's"),
        (event("MODIFIED", "a", "other", 12), "a was named first"),
    ] {
        assert_eq!(last_fault(&[added.clone(), broken]).as_deref(), Some(fault));
    }
}

#[test]
fn an_object_that_is_added_anew_is_counted() {
    let (mut recording, mut last) = (Recording::default(), 0);
    for version in [11, 12] {
        recording.told(&event("ADDED", "a", "first", version), &mut last).unwrap();
    }
    assert_eq!((recording.repeated, recording.objects["a"].version), (1, 12));
}

#[test]
fn a_list_that_goes_back_or_changes_a_known_state_is_a_fault() {
    let mut recording = Recording::default();
    let state = |version: u64, data: &str| {
        let (uid, mut shown) = Shown::new(&event("", "a", "first", version)["object"]).unwrap();
        shown.essence = json!(data);
        BTreeMap::from([(uid, shown)])
    };
    recording.listed(20, state(11, "x"));
    recording.listed(21, state(11, "x"));
    assert_eq!(recording.faults, Vec::<String>::new());
    recording.listed(19, state(11, "y"));
    recording.listed(22, state(23, "z"));
    assert_eq!(recording.faults, ["a list at 19 after 21", "a at 11 had another content", "a list at 22 has a at 23"]);
}
