//! Guests as text, for tests: what they do is in sight, and no toolchain makes them.

use std::path::Path;

use orrery_api::extension::{Limits, Plugin};
use orrery_api::placement::{Candidate, PlacementRequest, Unit};
use orrery_api::{ClusterName, Gvr};
use serde_json::{Value, json};
use wit_component::StringEncoding;
use wit_parser::Resolve;

use crate::revision::Revision;
use crate::runtime::Code;

/// Where a request has the number of its candidates (the canonical ABI's layout of `placement-types.request`).
const FRAME: &str = r#"(module
  (import "orrery:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32 i32 i32)))
  (memory (export "memory") 2)
  (global $next (mut i32) (i32.const 4096))
  (data (i32.const 1024) "Odd")
  (data (i32.const 1040) "it is odd")
  (func $room (param $bytes i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $next))
    (global.set $next (i32.and (i32.add (i32.add (local.get $at) (local.get $bytes)) (i32.const 15)) (i32.const -16)))
    (if (i32.gt_u (global.get $next) (i32.mul (memory.size) (i32.const 65536)))
      (then (drop (memory.grow (i32.add (i32.shr_u (local.get $bytes) (i32.const 16)) (i32.const 2))))))
    (local.get $at))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (call $room (local.get 3)))
  ;; The result of a failure: code Odd, message "it is odd".
  (func $failure (result i32)
    (local $at i32)
    (local.set $at (call $room (i32.const 64)))
    (i32.store (local.get $at) (i32.const 1))
    (i32.store offset=4 (local.get $at) (i32.const 1024))
    (i32.store offset=8 (local.get $at) (i32.const 3))
    (i32.store offset=12 (local.get $at) (i32.const 1040))
    (i32.store offset=16 (local.get $at) (i32.const 9))
    (local.get $at))
  ;; The result of a list that begins at $list.
  (func $list (param $list i32) (param $count i32) (result i32)
    (local $at i32)
    (local.set $at (call $room (i32.const 64)))
    (i32.store offset=4 (local.get $at) (local.get $list))
    (i32.store offset=8 (local.get $at) (local.get $count))
    (local.get $at))
  ;; Scores $first, $first + 1, … of $count candidates.
  (func $scores (param $count i32) (param $first i64) (result i32)
    (local $list i32) (local $at i32)
    (local.set $list (call $room (i32.mul (i32.add (local.get $count) (i32.const 1)) (i32.const 8))))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $at) (local.get $count)))
      (i64.store (i32.add (local.get $list) (i32.mul (local.get $at) (i32.const 8)))
        (i64.add (local.get $first) (i64.extend_i32_u (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $more)))
    (call $list (local.get $list) (local.get $count)))
  (func $count (param $request i32) (result i32) (i32.load offset=84 (local.get $request)))
  (func (export "orrery:plugin/lifecycle@0.1.0#check-params") (param i32 i32) (result i32) CHECK)
  (func (export "orrery:plugin/placement-score@0.1.0#score") (param $request i32) (result i32) SCORE)
  REST
)"#;

/// Takes all params.
pub(crate) const TAKES: &str = "(call $room (i32.const 64))";

/// A core module of the world `scorer` that answers `check-params` with `check` and `score` with `score`; `rest` stands
/// beside them. In reach are `$room`, `$failure`, `$list`, `$scores`, `$count` and `$request`.
pub(crate) fn scorer(check: &str, score: &str, rest: &str) -> Vec<u8> {
    let text = FRAME.replace("CHECK", check).replace("SCORE", score).replace("REST", rest);
    let mut module = wat::parse_str(text).unwrap();
    let mut resolve = Resolve::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/plugin/0.1.0");
    let (package, _) = resolve.push_path(folder).unwrap();
    let world = resolve.select_world(&[package], Some("scorer")).unwrap();
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    module
}

/// One that scores `first`, `first` + 1, …
pub(crate) fn scoring(first: i64) -> Vec<u8> {
    scorer(TAKES, &format!("(call $scores (call $count (local.get $request)) (i64.const {first}))"), "")
}

/// `wasm` with a section of ours.
pub(crate) fn with_section(mut wasm: Vec<u8>, name: &str, data: &Value) -> Vec<u8> {
    let data = data.to_string();
    let mut section = leb(name.len());
    section.extend(name.bytes());
    section.extend(data.bytes());
    wasm.push(0);
    wasm.extend(leb(section.len()));
    wasm.extend(section);
    wasm
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 128 {
        bytes.push(u8::try_from(number % 128).unwrap() | 128);
        number /= 128;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

/// The plugin `name` of `wasm`, which may burn so much fuel.
pub(crate) fn revision(name: &str, wasm: &[u8], fuel: u64) -> Revision {
    let mut plugin = Plugin::of_file(name, "");
    plugin.limits = Limits { fuel, ..Limits::default() };
    Revision::of_plugin(&plugin, Code::read(wasm).unwrap())
}

/// What is placed in tests, and where it may go.
pub(crate) struct Question {
    unit: Unit,
    fleet: Vec<Candidate>,
    scores: Vec<u32>,
}

// === impl Question ===

impl Question {
    pub(crate) fn of(clusters: usize) -> Self {
        let object = json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "data": {"a": "b"}});
        let unit = Unit::read(Gvr::new("", "v1", "configmaps"), "shop", &object);
        let named = |at: usize| Candidate::named(ClusterName::new(&format!("c{at}")).unwrap());
        Self { unit, fleet: (0..clusters).map(named).collect(), scores: vec![0; clusters] }
    }

    pub(crate) fn request(&self) -> PlacementRequest<'_> {
        PlacementRequest::new(&self.unit, &self.fleet, (&self.fleet, &self.scores), 1_000)
    }
}
