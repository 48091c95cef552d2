//! The laws of the marker log (see the crate's documentation) over generated histories: several clusters, equal versions,
//! crashes at every step of the store, older and lost stores, clocks set back, lists, joins, leaves, clusters that are
//! away, and names that clash.

#[path = "laws/host.rs"]
mod host;
#[path = "laws/member.rs"]
mod member;
#[path = "laws/view.rs"]
mod view;

use std::collections::BTreeSet;
use std::time::Duration;

use host::{Answers, Found, World};
use member::Object;
use orrery_api::{Naming, ObjectKey};
use orrery_stores::testing::{Fault, Outcome};
use proptest::prelude::*;

/// One step of a history. Members and objects are given by number.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, usize),
    Terminate(usize, usize),
    Delete(usize, usize),
    DeleteAll(usize),
    Deliver(usize, usize),
    Bookmark(usize),
    Resume(usize),
    Cut(usize),
    Relist(usize),
    Look(usize, usize),
    Restore(usize, usize),
    Replace(usize),
    Join(usize),
    Leave(usize),
    Pack,
    Commit,
    StoreFault(Fault),
    CrashAfter(usize, Outcome),
    Copy,
    Restart(Found, [Answers; 3], u64),
    Fold(u64),
    Expire(usize),
    Clock(i64),
}

fn keys() -> Vec<ObjectKey> {
    [("a", "web"), ("a", "web.east"), ("b", "web"), ("", "node")]
        .map(|(space, name)| ObjectKey::new(space, name))
        .into()
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Done), Just(Outcome::NotDone)]
}

fn answers() -> impl Strategy<Value = Answers> {
    prop_oneof![
        4 => Just(Answers::WithHistory),
        1 => Just(Answers::WithLittleHistory),
        1 => Just(Answers::WithListOnly),
        1 => Just(Answers::Not),
    ]
}

fn restart() -> impl Strategy<Value = Step> {
    let found = prop_oneof![6 => Just(Found::Same), 1 => (0..9usize).prop_map(Found::Older), 1 => Just(Found::Nothing)];
    (found, [answers(), answers(), answers()], 0..60_000u64)
        .prop_map(|(found, answers, rewind)| Step::Restart(found, answers, rewind))
}

fn step() -> impl Strategy<Value = Step> {
    let member = || 0..3usize;
    let object = || 0..4usize;
    let member_step = prop_oneof![
        12 => (member(), object()).prop_map(|(member, object)| Step::Write(member, object)),
        3 => (member(), object()).prop_map(|(member, object)| Step::Terminate(member, object)),
        4 => (member(), object()).prop_map(|(member, object)| Step::Delete(member, object)),
        2 => member().prop_map(Step::DeleteAll),
        1 => (member(), 0..6usize).prop_map(|(member, events)| Step::Restore(member, events)),
        1 => member().prop_map(Step::Replace),
    ];
    let watch_step = prop_oneof![
        12 => (member(), 1..4usize).prop_map(|(member, count)| Step::Deliver(member, count)),
        2 => member().prop_map(Step::Bookmark),
        2 => member().prop_map(Step::Resume),
        1 => member().prop_map(Step::Cut),
        2 => member().prop_map(Step::Relist),
        1 => (member(), object()).prop_map(|(member, object)| Step::Look(member, object)),
        1 => member().prop_map(Step::Join),
        1 => member().prop_map(Step::Leave),
    ];
    let store_step = prop_oneof![
        8 => Just(Step::Commit),
        2 => Just(Step::Pack),
        2 => prop_oneof![
            Just(Fault::Fail),
            Just(Fault::Unknown(Outcome::Done)),
            Just(Fault::Unknown(Outcome::NotDone))
        ].prop_map(Step::StoreFault),
        2 => (0..3usize, outcome()).prop_map(|(writes, outcome)| Step::CrashAfter(writes, outcome)),
        1 => Just(Step::Copy),
        3 => restart(),
        1 => (0..40_000u64).prop_map(Step::Fold),
        1 => (0..20usize).prop_map(Step::Expire),
        1 => prop_oneof![-50_000..0i64, 0..50_000i64].prop_map(Step::Clock),
    ];
    prop_oneof![4 => member_step, 4 => watch_step, 3 => store_step]
}

fn take(world: &mut World, step: &Step) {
    let keys = keys();
    let fresh = world.fresh();
    match step.clone() {
        Step::Write(member, object) => world.members[member].write(&keys[object], fresh),
        Step::Terminate(member, object) => world.members[member].terminate(&keys[object], fresh),
        Step::Delete(member, object) => world.members[member].delete(&keys[object..=object]),
        Step::DeleteAll(member) => world.members[member].delete(&keys),
        Step::Deliver(member, count) => world.deliver(member, count),
        Step::Bookmark(member) => world.bookmark(member),
        Step::Resume(member) => world.resume(member),
        Step::Cut(member) => world.cut(member),
        Step::Relist(member) => world.relist(member),
        Step::Look(member, object) => world.look(member, &keys[object]),
        Step::Restore(member, events) => world.restore(member, events),
        Step::Replace(member) => world.replace(member),
        Step::Join(member) => world.join(member),
        Step::Leave(member) => world.leave(member),
        Step::Pack => world.pack(),
        Step::Commit => {
            if !world.commit() {
                world.restart(Found::Same, [Answers::WithHistory; 3], Duration::from_millis(20));
            }
        }
        Step::StoreFault(fault) => world.add_fault(fault),
        Step::CrashAfter(writes, outcome) => world.crash_after(writes, outcome),
        Step::Copy => world.copy(),
        Step::Restart(found, answers, rewind) => world.restart(found, answers, Duration::from_micros(rewind)),
        Step::Fold(micros) => world.fold(micros),
        Step::Expire(markers) => world.expire(markers),
        Step::Clock(micros) => world.move_clock(micros),
    }
}

fn run(naming: Naming, steps: &[Step]) -> World {
    let mut world = World::new(naming);
    for step in steps {
        take(&mut world, step);
    }
    world.quiesce();
    world
}

/// That each object of each member is served once, with its last state, and under a name that tells whose it is.
fn check_each_is_served(world: &World) {
    let held = world.members.iter().zip(&world.links).filter(|(_, link)| link.is_member).flat_map(|(member, _)| {
        let told = |(key, object): (&ObjectKey, &Object)| {
            (member.name.clone(), key.clone(), object.uid, object.version, object.content)
        };
        member.objects.iter().map(told)
    });
    let served = world.view.shown.values().map(|served| {
        let (uid, version, digest) = &served.body;
        let content = digest.bits() & 0xffff_ffff;
        (served.cluster.clone(), served.key.clone(), uid.as_uuid().unwrap(), version.number(), content)
    });
    let mut served: Vec<_> = served.collect();
    let mut held: Vec<_> = held.collect();
    served.sort();
    held.sort();
    assert_eq!(served, held);
    for (name, served) in &world.view.shown {
        let qualified =
            name.name.starts_with(&*served.key.name) && name.name.ends_with(&format!(".{}", served.cluster));
        assert!(*name == served.key || qualified, "{name} for {} of {}", served.key, served.cluster);
        assert_eq!(name.namespace, served.key.namespace);
    }
}

/// That each name that some member holds is served once, with its holders, from one of them that is not on its way out
/// if there is such a one.
fn check_each_name_is_served(world: &World) {
    let members: Vec<_> =
        world.members.iter().zip(&world.links).filter(|(_, link)| link.is_member).map(|(member, _)| member).collect();
    let names: BTreeSet<_> = members.iter().flat_map(|member| member.objects.keys().cloned()).collect();
    assert_eq!(world.view.shown.keys().cloned().collect::<BTreeSet<_>>(), names);
    for (name, served) in &world.view.shown {
        let holders = members.iter().filter(|member| member.objects.contains_key(name));
        let holders: BTreeSet<_> = holders.map(|member| member.name.clone()).collect();
        assert_eq!(served.holders.as_ref(), Some(&holders), "holders of {name}");
        let shown = members.iter().find(|member| member.name == served.cluster);
        match shown.and_then(|member| member.objects.get(name)) {
            Some(object) => assert_eq!(object.version, served.body.1.number(), "{name}"),
            None => {
                let all_go =
                    members.iter().filter_map(|member| member.objects.get(name)).all(|object| object.terminating);
                assert!(all_go, "{name} is shown from {}, which does not hold it", served.cluster);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn unique_names_keep_the_laws(steps in prop::collection::vec(step(), 1..80)) {
        check_each_is_served(&run(Naming::Unique, &steps));
    }

    #[test]
    fn qualified_names_keep_the_laws(steps in prop::collection::vec(step(), 1..80)) {
        check_each_is_served(&run(Naming::Qualified, &steps));
    }

    #[test]
    fn names_that_are_one_object_keep_the_laws(steps in prop::collection::vec(step(), 1..80)) {
        check_each_name_is_served(&run(Naming::Same, &steps));
    }
}
