use proptest::prelude::*;

use super::*;

fn version(number: u64) -> MemberVersion {
    MemberVersion::from_number(number)
}

/// A course that watches from version 10.
fn watching() -> Course {
    let mut course = Course::new(Start::Fresh);
    course.step(Happened::Loaded { version: version(10), watching: true });
    course
}

fn broken() -> Happened {
    Happened::Failed(Fault::Broken("reset".to_owned()))
}

#[test]
fn a_version_is_complete_once_a_later_one_was_seen() {
    let mut course = watching();
    let mut at = |happened| {
        course.step(happened);
        let State::Watching(at) = course.state() else { panic!("not watching") };
        (at.complete.number(), at.seen.number())
    };
    assert_eq!(at(Happened::Event(version(12))), (10, 12));
    assert_eq!(at(Happened::Event(version(12))), (10, 12));
    assert_eq!(at(Happened::Bookmark(version(12))), (10, 12));
    assert_eq!(at(Happened::Event(version(15))), (12, 15));
    assert_eq!(at(Happened::Bookmark(version(20))), (15, 20));
}

#[test]
fn only_a_version_that_is_not_below_lets_a_watch_resume() {
    for (now, next) in
        [(9, latest(ListReason::WentBack)), (10, State::Opening(Position { complete: version(10), seen: version(10) }))]
    {
        let mut course = watching();
        course.step(Happened::Ended);
        course.step(Happened::Checked(version(now)));
        assert_eq!(course.state(), next);
    }
}

#[test]
fn a_fault_of_a_loaded_watch_lists_and_is_told_once_a_reason() {
    let mut course = watching();
    assert!(matches!(course.step(broken()), (Some(Observation::Stale { .. }), Pause::Backoff)));
    assert_eq!(course.state(), latest(ListReason::Reconnected));
    assert!(matches!(course.step(broken()), (None, Pause::Backoff)));
    let forbidden = Happened::Failed(Fault::away(crate::AwayClass::Forbidden, "403"));
    assert!(matches!(course.step(forbidden), (Some(Observation::Stale { .. }), _)));
    let live = course.step(Happened::Loaded { version: version(11), watching: false });
    assert!(live.0.is_none());
    assert!(matches!(course.step(Happened::Opened), (Some(Observation::Live), Pause::None)));
}

#[test]
fn a_list_that_does_not_understand_watch_list_is_tried_plainly_at_once_and_then_is_away() {
    let not_understood = || Happened::Failed(Fault::NotUnderstood("422".to_owned()));
    let mut course = Course::new(Start::Fresh);
    assert!(matches!(course.step(not_understood()), (None, Pause::None)));
    assert!(!course.may_stream_lists());
    assert!(matches!(course.step(not_understood()), (Some(Observation::Away { .. }), Pause::Backoff)));
}

fn happened() -> impl Strategy<Value = u8> {
    0u8..8
}

proptest! {
    /// However events, bookmarks and ends follow one another: the resume point never passes what may still have
    /// events, and never goes back but by a list.
    #[test]
    fn the_resume_point_stays_below_what_was_seen_last(steps in prop::collection::vec((happened(), 0u64..3), 1..60)) {
        let mut course = watching();
        let mut now = 10;
        for (what, step) in steps {
            let before = course.state();
            now += step;
            let happened = match (before, what) {
                (State::Watching(_), 0..=3) => Happened::Event(version(now)),
                (State::Watching(_), 4) => Happened::Bookmark(version(now)),
                (State::Watching(_), 5..=6) => Happened::Ended,
                (State::Watching(_), _) | (State::Opening(_) | State::Checking(_), 7) => broken(),
                (State::Checking(_), _) => Happened::Checked(version(now)),
                (State::Opening(_), _) => Happened::Opened,
                (State::Loading(_), _) => Happened::Loaded { version: version(now), watching: true },
            };
            course.step(happened);
            if let (State::Watching(before), State::Watching(after)) = (before, course.state()) {
                prop_assert!(!before.complete.is_after(after.complete));
                prop_assert!(after.seen == after.complete || after.seen.is_after(after.complete));
                prop_assert!(!after.complete.is_after(before.seen));
            }
        }
    }
}
