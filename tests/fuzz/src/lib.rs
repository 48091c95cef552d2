//! What is fuzzed: everything that reads bytes of others. `./dev test fuzz` runs each target for a while with
//! cargo-fuzz (`tests/fuzz/fuzz`); the inputs in `tests/fuzz/corpus` are replayed by the unit tests. Add to them what a run
//! finds.

use orrery_api::extension::Document;
use orrery_api::{Gvr, ObjectKey};
use orrery_cache::{FieldSelector, FieldTable, LabelSelector};
use orrery_markers::codec::SegmentReader;

/// A target by name.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 11] = [
    ("accept", |data| orrery_rest::testing::accept(&text(data))),
    ("component", orrery_extensions::testing::component),
    ("continue_token", |data| orrery_rest::testing::continue_token(&text(data))),
    ("document", |data| drop(Document::parse(&text(data)))),
    ("expression", |data| orrery_extensions::testing::expression(&text(data))),
    ("field_selector", field_selector),
    ("guest_result", orrery_extensions::testing::guest_result),
    ("label_selector", label_selector),
    ("query", |data| orrery_rest::testing::query(&text(data))),
    ("segment", segment),
    ("watch_frames", orrery_fleet::testing::watch_frames),
];

/// Runs the target `name` on one input. It panics where something is wrong, or where there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = target.expect("cargo-fuzz is started with the names of TARGETS");
    target(data);
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// A selector that is taken is printed as one that is taken.
fn label_selector(data: &[u8]) {
    let Ok(selector) = LabelSelector::parse(&text(data)) else { return };
    let printed = selector.to_string();
    let again = LabelSelector::parse(&printed).expect("what was printed can be read");
    assert_eq!(again.to_string(), printed, "it is printed in two ways");
}

fn field_selector(data: &[u8]) {
    let pods = FieldTable::of(&Gvr::new("", "v1", "pods"), true);
    let _ = FieldSelector::parse(&text(data), &pods);
}

fn segment(data: &[u8]) {
    let Ok((_, mut reader)) = SegmentReader::new(data) else { return };
    let key = ObjectKey::new("a", "b");
    while let Ok(Some(_)) = reader.next(|_, _| Some(key.clone())) {}
}
