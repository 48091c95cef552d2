//! What fuzzing calls. It must bear any bytes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use orrery_api::extension::{CelPolicy, CelTarget, Limits, Plugin};
use orrery_api::placement::{Candidate, PlacementQuestion, PlacementRequest, Unit, Verdict};
use orrery_api::{ClusterName, Gvr};
use serde_json::{Value, json};
use wit_component::StringEncoding;
use wit_parser::Resolve;

use crate::generation::Generation;
use crate::load::Runtime;
use crate::registry::EVALUATOR;
use crate::revision::Revision;
use crate::runtime::Code;

/// Answers every question of placement with the bytes that its params, a string, write in hexadecimal.
const ECHO: &str = r#"(module
  (memory (export "memory") 4)
  (global $next (mut i32) (i32.const 4096))
  (func $room (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $next))
    (global.set $next (i32.and (i32.add (i32.add (local.get $at) (local.get 3)) (i32.const 15)) (i32.const -16)))
    (if (i32.gt_u (global.get $next) (i32.mul (memory.size) (i32.const 65536)))
      (then (drop (memory.grow (i32.add (i32.shr_u (local.get 3) (i32.const 16)) (i32.const 2))))))
    (local.get $at))
  (func $digit (param $at i32) (result i32)
    (local $digit i32)
    (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
    (select (i32.sub (local.get $digit) (i32.const 39)) (local.get $digit) (i32.gt_u (local.get $digit) (i32.const 9))))
  ;; `params` is the third field of `call`, which is the first of a request; it is in quotes.
  (func $echo (param $request i32) (result i32)
    (local $from i32) (local $end i32) (local $to i32) (local $at i32)
    (local.set $from (i32.add (i32.load offset=16 (local.get $request)) (i32.const 1)))
    (local.set $end (i32.add (local.get $from) (i32.sub (i32.load offset=20 (local.get $request)) (i32.const 2))))
    (local.set $to (call $room (i32.const 0) (i32.const 0) (i32.const 16)
      (i32.add (i32.sub (local.get $end) (local.get $from)) (i32.const 64))))
    (local.set $at (local.get $to))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
      (i32.store8 (local.get $at) (i32.or
        (i32.shl (call $digit (local.get $from)) (i32.const 4))
        (call $digit (i32.add (local.get $from) (i32.const 1)))))
      (local.set $from (i32.add (local.get $from) (i32.const 2)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $more)))
    (local.get $to))
  (func (export "orrery:plugin/lifecycle@0.1.0#check-params") (param i32 i32) (result i32) (i32.const 16))
  (export "orrery:plugin/placement-filter@0.1.0#filter" (func $echo))
  (export "orrery:plugin/placement-score@0.1.0#score" (func $echo))
  (export "orrery:plugin/placement-select@0.1.0#select" (func $echo))
  (export "orrery:plugin/placement-split@0.1.0#split" (func $echo)))"#;

const QUESTIONS: [PlacementQuestion; 4] =
    [PlacementQuestion::Filter, PlacementQuestion::Score, PlacementQuestion::Select, PlacementQuestion::Split];

const FUEL: u64 = 50_000_000;

/// What runs guests, and two of them.
struct Guests {
    tokio: tokio::runtime::Runtime,
    echo: Generation,
    evaluator: Generation,
}

static GUESTS: LazyLock<Guests> = LazyLock::new(Guests::load);

/// Reads a component, or a core module, with its manifest and cases. What was made of it is a component itself.
///
/// # Panics
/// What one reading made another one refuses.
pub fn component(bytes: &[u8]) {
    let Ok(code) = Code::read(bytes) else { return };
    let again = Code::read(&code.bytes);
    assert!(again.is_ok_and(|again| again.bytes == code.bytes), "it does not take what it made");
}

/// Has a plugin answer a question with `bytes`, the first of which says which question.
///
/// # Panics
/// The next call, whose bytes are right, fails.
pub fn guest_result(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let question = QUESTIONS[usize::from(*first) % QUESTIONS.len()];
    // Whatever comes of it, as long as it comes to an end.
    let _ = GUESTS.answered(question, bytes);
    // Two scores, whatever they are, that lie where its memory begins to be used.
    let list = [[0, 0, 0, 0], 4096_u32.to_le_bytes(), 2_u32.to_le_bytes()].concat();
    assert_eq!(GUESTS.answered(PlacementQuestion::Score, &list), Ok(2), "it is not what it was");
}

/// Loads a rule that keeps the clusters of which `expression` is true, and asks it.
///
/// # Panics
/// The next rule, which is right, fails.
pub fn expression(expression: &str) {
    // Whatever comes of it, as long as it comes to an end.
    let _ = GUESTS.kept(expression);
    assert_eq!(GUESTS.kept("cluster.name == 'b'"), Ok(1), "it is not what it was");
}

// === impl Guests ===

impl Guests {
    fn load() -> Self {
        let tokio = tokio::runtime::Runtime::new().expect("threads can be started");
        let (echo, evaluator) = tokio.block_on(async {
            let runtime = Runtime::start(compiled().as_deref()).expect("this machine runs WebAssembly");
            let echo = Revision::of_plugin(&plugin(json!("")), Code::read(&echo()).expect("it is a module"));
            let evaluator = Code::read(EVALUATOR).expect("it is a component");
            let rule = rule(evaluator, "true");
            let echo = runtime.load(echo, 1).await.expect("it is a plugin");
            (echo, runtime.load(rule, 1).await.expect("it is a rule"))
        });
        Self { tokio, echo, evaluator }
    }

    fn answered(&self, question: PlacementQuestion, bytes: &[u8]) -> Result<usize, String> {
        let hexadecimal = bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let revision = Revision::of_plugin(&plugin(json!(hexadecimal)), self.echo.revision.code.clone());
        self.asked(&Generation::new(1, revision, self.echo.guest().clone()), question)
    }

    /// How many of two clusters a rule keeps.
    fn kept(&self, expression: &str) -> Result<usize, String> {
        let revision = rule(self.evaluator.revision.code.clone(), expression);
        let generation = Generation::new(1, revision, self.evaluator.guest().clone());
        let params = generation.revision.params.to_string();
        let checked = self.tokio.block_on(generation.guest().check_params(&generation.caller(), &params));
        checked.map_err(|error| error.to_string())?;
        self.asked(&generation, PlacementQuestion::Filter)
    }

    /// How many of two clusters stay.
    fn asked(&self, generation: &Generation, question: PlacementQuestion) -> Result<usize, String> {
        let unit = Unit::read(Gvr::new("", "v1", "configmaps"), "shop", &json!({"metadata": {"name": "web"}}));
        let fleet = ["a", "b"].map(|name| Candidate::named(ClusterName::new(name).expect("it is a name")));
        let request = PlacementRequest::new(&unit, &fleet, (&fleet, &[0, 0]), 1_000);
        let asked = generation.asked(question, &request);
        let judged = self.tokio.block_on(generation.judge(&generation.caller(), &asked));
        let verdicts = judged.map_err(|error| error.to_string())?;
        assert_eq!(verdicts.len(), fleet.len(), "there is not one verdict for each cluster");
        Ok(verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Stays(_))).count())
    }
}

/// Where what is compiled is kept, as by all of `./dev`.
fn compiled() -> Option<PathBuf> {
    Some(Path::new(&std::env::var_os("HOME")?).join(".cache/orrery/compiled"))
}

/// [`ECHO`] with what it exports, as a compiler leaves it.
fn echo() -> Vec<u8> {
    let mut module = wat::parse_str(ECHO).expect("it is a module");
    let mut resolve = Resolve::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/plugin/0.1.0");
    let (package, _) = resolve.push_path(folder).expect("the interfaces can be read");
    let world = resolve.select_world(&[package], Some("placement-strategy")).expect("it is one of them");
    let embedded = wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8);
    embedded.expect("a section can be added");
    module
}

fn plugin(params: Value) -> Plugin {
    Plugin { params, limits: Limits { fuel: FUEL, ..Limits::default() }, ..Plugin::of_file("echo", "") }
}

fn rule(evaluator: Code, expression: &str) -> Revision {
    let policy = CelPolicy {
        name: "fuzzed".to_owned(),
        target: CelTarget::Filter,
        spec: json!({"target": {"stage": "filter"}, "expressions": [{"name": "it", "expression": expression}]}),
        tests: Vec::new(),
        limits: Limits { fuel: FUEL, ..Limits::default() },
    };
    Revision::of_cel(&policy, evaluator)
}
