use super::*;

fn cluster(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

#[test]
fn a_qualified_name_that_is_too_long_is_cut_and_keeps_its_cluster_and_a_hash() {
    let single = Single::new(true);
    let key = ObjectKey::new("a", &"x".repeat(NAME_CHARS_MAX));
    let (served, needs) = single.name_for(&cluster("east"), &key);
    assert_eq!((served.name.len(), needs), (NAME_CHARS_MAX, NeedsClaim::Yes));
    assert!(served.name.ends_with(".east"));
    let other = ObjectKey::new("b", &key.name);
    assert_ne!(single.name_for(&cluster("east"), &other).0.name, served.name, "the hash is of the whole key");
}

#[test]
fn a_name_is_never_cut_within_a_character() {
    let key = ObjectKey::new("", &"é".repeat(NAME_CHARS_MAX));
    let (served, _) = Single::new(true).name_for(&cluster("east"), &key);
    assert!(served.name.len() <= NAME_CHARS_MAX && served.name.ends_with(".east"), "{served}");
}

#[test]
fn a_freed_name_is_anybodys_and_its_old_owner_has_none() {
    let mut single = Single::new(false);
    let (plain, renamed) = (ObjectKey::new("a", "web"), ObjectKey::new("a", "web.west"));
    single.take(&plain, &cluster("east"), &plain);
    single.take(&renamed, &cluster("west"), &plain);
    assert_eq!(single.served(&cluster("west"), &plain), Some(renamed.clone()));
    single.free(&renamed);
    assert_eq!(single.served(&cluster("west"), &plain), None);
    single.free(&plain);
    assert_eq!(single.name_for(&cluster("west"), &plain), (plain, NeedsClaim::No));
}

#[test]
fn claims_lapse_only_once_their_deletion_is_older_than_asked() {
    let mut single = Single::new(false);
    let key = ObjectKey::new("a", "web");
    let marker = |number| Marker::new(number).unwrap();
    single.take(&key, &cluster("east"), &key);
    assert!(single.lapsed(marker(100)).is_empty(), "it lives");
    single.mark_gone(&key, marker(50));
    assert!(single.lapsed(marker(50)).is_empty());
    assert_eq!(single.lapsed(marker(51)), [(key.clone(), cluster("east"))]);
    single.take(&key, &cluster("east"), &key);
    assert!(single.lapsed(marker(100)).is_empty(), "it lives again");
}
