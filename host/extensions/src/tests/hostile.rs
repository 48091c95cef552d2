//! Guests that mean harm, or were built wrong: each is contained, what it did is named, and others go on answering.

use std::sync::Arc;
use std::time::Duration;

use orrery_api::extension::{ExtensionName, Limits, Plugin};
use orrery_api::placement::PlacementQuestion;
use serde_json::{Value, json};

use crate::Metrics;
use crate::load::Runtime;
use crate::revision::Revision;
use crate::runtime::{CallError, Code};
use crate::slot::Slot;
use crate::tests::guests::{Question, TAKES, revision, scorer, scoring, with_section};

/// What it does, the body of `score`, what stands beside it, and how it ends.
type Case = (&'static str, &'static str, &'static str, &'static str);

const LOOPS: &[Case] = &[
    ("loops", "(loop (br 0)) (unreachable)", "", "fuel"),
    ("loops in a loop", "(loop (loop (br 1))) (unreachable)", "", "fuel"),
    ("loops by a table", "(loop (br_table 0 0 (i32.const 7))) (unreachable)", "", "fuel"),
    ("loops in a function", "(call $spin) (unreachable)", "(func $spin (loop (br 0)))", "fuel"),
    (
        "loops over memory",
        "(loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536)) (br 0)) (unreachable)",
        "",
        "fuel",
    ),
    ("loops with a call", "(loop (call $nothing) (br 0)) (unreachable)", "(func $nothing)", "fuel"),
    (
        "counts to the end of numbers",
        "(local $n i64) (loop (local.set $n (i64.add (local.get $n) (i64.const 1))) (br_if 0 (i64.ne (local.get $n) (i64.const -1)))) (unreachable)",
        "",
        "fuel",
    ),
    ("asks for the memory's size for ever", "(loop (drop (memory.size)) (br 0)) (unreachable)", "", "fuel"),
];

const STACK: &[Case] = &[
    ("calls itself", "(call $deep) (unreachable)", "(func $deep (call $deep))", "trap"),
    (
        "calls itself with much in hand",
        "(drop (call $deep (i64.const 1))) (unreachable)",
        "(func $deep (param i64) (result i64) (local i64 i64 i64 i64 i64 i64 i64 i64) (i64.add (call $deep (local.get 0)) (local.get 0)))",
        "trap",
    ),
    ("calls another that calls it", "(call $a) (unreachable)", "(func $a (call $b)) (func $b (call $a))", "trap"),
    (
        "calls itself through a table",
        "(call_indirect (type $nothing) (i32.const 0)) (unreachable)",
        "(type $nothing (func)) (table 1 funcref) (func $again (call_indirect (type $nothing) (i32.const 0))) (elem (i32.const 0) $again)",
        "trap",
    ),
];

const MEMORY: &[Case] = &[
    ("takes memory page by page", "(loop (drop (memory.grow (i32.const 1))) (br 0)) (unreachable)", "", "memory"),
    ("takes memory in large pieces", "(loop (drop (memory.grow (i32.const 256))) (br 0)) (unreachable)", "", "memory"),
    ("takes all memory at once", "(drop (memory.grow (i32.const 65000))) (unreachable)", "", "memory"),
    ("takes more than there is", "(drop (memory.grow (i32.const -1))) (unreachable)", "", "memory"),
    (
        "fills what it takes",
        "(loop (drop (memory.grow (i32.const 16))) (memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const 65535))) (br 0)) (unreachable)",
        "",
        "fuel",
    ),
    (
        "makes a table large",
        "(loop (br_if 0 (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) (unreachable)",
        "(table $t 1 funcref)",
        "trap",
    ),
    (
        "makes a table huge",
        "(drop (table.grow $t (ref.null func) (i32.const 2000000000))) (unreachable)",
        "(table $t 1 funcref)",
        "fuel",
    ),
];

const TRAPS: &[Case] = &[
    ("ends", "(unreachable)", "", "trap"),
    ("divides by nothing", "(drop (i32.div_u (i32.const 1) (i32.const 0))) (unreachable)", "", "trap"),
    ("takes the rest of nothing", "(drop (i32.rem_s (i32.const 1) (i32.const 0))) (unreachable)", "", "trap"),
    ("divides out of range", "(drop (i32.div_s (i32.const 0x80000000) (i32.const -1))) (unreachable)", "", "trap"),
    ("makes no number an integer", "(drop (i32.trunc_f32_s (f32.const nan))) (unreachable)", "", "trap"),
    ("makes a large number a small one", "(drop (i64.trunc_f64_u (f64.const 1e300))) (unreachable)", "", "trap"),
    ("reads beyond memory", "(drop (i32.load (i32.const -4))) (unreachable)", "", "trap"),
    ("reads far beyond memory", "(drop (i64.load offset=4294967295 (i32.const -1))) (unreachable)", "", "trap"),
    ("writes beyond memory", "(i64.store (i32.const 131070) (i64.const 1)) (unreachable)", "", "trap"),
    (
        "copies beyond memory",
        "(memory.copy (i32.const 0) (i32.const 131000) (i32.const 1000)) (unreachable)",
        "",
        "trap",
    ),
    (
        "fills beyond memory",
        "(memory.fill (i32.const 131000) (i32.const 7) (i32.const 1000)) (unreachable)",
        "",
        "trap",
    ),
    (
        "calls what is not there",
        "(call_indirect (type $n) (i32.const 0)) (unreachable)",
        "(type $n (func)) (table 1 funcref)",
        "trap",
    ),
    (
        "calls beyond the table",
        "(call_indirect (type $n) (i32.const 9)) (unreachable)",
        "(type $n (func)) (table 1 funcref)",
        "trap",
    ),
    (
        "calls something of another type",
        "(call_indirect (type $n) (i32.const 0)) (unreachable)",
        "(type $n (func)) (table 1 funcref) (func $f (param i32)) (elem (i32.const 0) $f)",
        "trap",
    ),
    ("gets from beyond a table", "(drop (table.get $t (i32.const 5))) (unreachable)", "(table $t 1 funcref)", "trap"),
    (
        "sets beyond a table",
        "(table.set $t (i32.const 5) (ref.null func)) (unreachable)",
        "(table $t 1 funcref)",
        "trap",
    ),
];

const RESULTS: &[Case] = &[
    ("answers nothing", "(call $scores (i32.const 0) (i64.const 0))", "", "result"),
    ("answers too little", "(call $scores (i32.const 2) (i64.const 0))", "", "result"),
    ("answers too much", "(call $scores (i32.const 4) (i64.const 0))", "", "result"),
    ("answers a thousand times too much", "(call $scores (i32.const 3000) (i64.const 0))", "", "result"),
    ("answers where no memory is", "(i32.const -64)", "", "trap"),
    ("answers at an odd place", "(i32.const 4097)", "", "trap"),
    ("answers at the edge of memory", "(i32.const 131068)", "", "trap"),
    ("answers a list where no memory is", "(call $list (i32.const -8) (i32.const 3))", "", "trap"),
    ("answers a list at an odd place", "(call $list (i32.const 4099) (i32.const 3))", "", "trap"),
    ("answers a list without end", "(call $list (i32.const 4096) (i32.const -1))", "", "trap"),
    ("answers a list larger than memory", "(call $list (i32.const 4096) (i32.const 1000000))", "", "trap"),
    ("answers a gigabyte", "(call $list (i32.const 4096) (i32.const 134217728))", "", "trap"),
    (
        "answers more than the host takes",
        "(drop (memory.grow (i32.const 200))) (call $list (i32.const 4096) (i32.const 1500000))",
        "",
        "trap",
    ),
    ("answers neither well nor badly", "(call $other (i32.const 2))", OTHER, "trap"),
    ("answers by an unknown case", "(call $other (i32.const 255))", OTHER, "trap"),
    ("fails", "(call $failure)", "", "failure"),
    ("fails in no text", "(i32.store8 (i32.const 1024) (i32.const 255)) (call $failure)", "", "trap"),
    ("fails from where no memory is", "(call $failing (i32.const -8) (i32.const 8))", FAILING, "trap"),
    ("fails at great length", "(call $failing (i32.const 0) (i32.const -1))", FAILING, "trap"),
    (
        "fails with more than the host takes",
        "(drop (memory.grow (i32.const 200))) (call $failing (i32.const 0) (i32.const 9000000))",
        FAILING,
        "trap",
    ),
    ("fails with an option that is none", "(call $optional (i32.const 7))", OPTIONAL, "trap"),
];

const OTHER: &str =
    "(func $other (param $case i32) (result i32) (local $at i32) (local.set $at (call $room (i32.const 64)))
    (i32.store (local.get $at) (local.get $case)) (local.get $at))";

const FAILING: &str = "(func $failing (param $text i32) (param $bytes i32) (result i32) (local $at i32)
    (local.set $at (call $failure)) (i32.store offset=12 (local.get $at) (local.get $text))
    (i32.store offset=16 (local.get $at) (local.get $bytes)) (local.get $at))";

const OPTIONAL: &str = "(func $optional (param $case i32) (result i32) (local $at i32)
    (local.set $at (call $failure)) (i32.store8 offset=20 (local.get $at) (local.get $case)) (local.get $at))";

const LOGS: &[Case] = &[
    (
        "writes without end",
        "(loop (call $log (i32.const 2) (i32.const 1040) (i32.const 9) (i32.const 0) (i32.const 0)) (br 0)) (unreachable)",
        "",
        "trap",
    ),
    (
        "writes from where no memory is",
        "(call $log (i32.const 2) (i32.const -9) (i32.const 9) (i32.const 0) (i32.const 0)) (unreachable)",
        "",
        "trap",
    ),
    (
        "writes a gigabyte",
        "(call $log (i32.const 2) (i32.const 0) (i32.const 1000000000) (i32.const 0) (i32.const 0)) (unreachable)",
        "",
        "trap",
    ),
    (
        "writes more than the host takes",
        "(drop (memory.grow (i32.const 200))) (call $log (i32.const 2) (i32.const 0) (i32.const 9000000) (i32.const 0) (i32.const 0)) (unreachable)",
        "",
        "trap",
    ),
    (
        "writes no text",
        "(i32.store8 (i32.const 1040) (i32.const 255)) (call $log (i32.const 2) (i32.const 1040) (i32.const 9) (i32.const 0) (i32.const 0)) (unreachable)",
        "",
        "trap",
    ),
    (
        "writes at no level",
        "(call $log (i32.const 99) (i32.const 1040) (i32.const 9) (i32.const 0) (i32.const 0)) (unreachable)",
        "",
        "trap",
    ),
    (
        "writes fields without end",
        "(call $log (i32.const 2) (i32.const 1040) (i32.const 9) (i32.const 0) (i32.const -1)) (unreachable)",
        "",
        "trap",
    ),
];

/// Those that do harm while they are brought up.
const STARTS: &[(&str, &str, &str)] = &[
    ("loops as it starts", "(func $start (loop (br 0))) (start $start)", "fuel"),
    ("ends as it starts", "(func $start (unreachable)) (start $start)", "broke off"),
    ("calls itself as it starts", "(func $start (call $start)) (start $start)", "broke off"),
    (
        "takes memory as it starts",
        "(func $start (loop (drop (memory.grow (i32.const 64))) (br 0))) (start $start)",
        "memory",
    ),
    ("fills beyond its memory as it starts", "(data (i32.const 131070) \"too long\")", "broke off"),
    ("sets beyond its table as it starts", "(table 1 funcref) (func $f) (elem (i32.const 5) $f)", "broke off"),
];

struct Bench {
    runtime: Arc<Runtime>,
    good: Arc<Slot>,
}

// === impl Bench ===

impl Bench {
    async fn new() -> Self {
        let runtime = Arc::new(Runtime::start(None).unwrap());
        let good = Slot::new(ExtensionName::plugin("good"), runtime.clone(), Metrics::default());
        good.offer(revision("good", &scoring(7), 50_000_000)).await.unwrap();
        Self { runtime, good }
    }

    fn slot(&self) -> Arc<Slot> {
        Slot::new(ExtensionName::plugin("bad"), self.runtime.clone(), Metrics::default())
    }

    async fn good_answers(&self) {
        let question = Question::of(3);
        assert!(self.good.judge(PlacementQuestion::Score, &question.request()).await.is_ok());
    }
}

async fn contained(cases: &[Case]) {
    let bench = Bench::new().await;
    let question = Question::of(3);
    for (does, score, rest, outcome) in cases {
        let slot = bench.slot();
        slot.offer(revision("bad", &scorer(TAKES, score, rest), 50_000_000))
            .await
            .unwrap_or_else(|e| panic!("{does}: {e}"));
        let error = slot.judge(PlacementQuestion::Score, &question.request()).await.expect_err(does);
        assert_eq!(error.outcome(), *outcome, "{does}: {error}");
        assert_eq!(slot.status().generation.unwrap().faults, u64::from(*outcome != "failure"), "{does}");
        bench.good_answers().await;
    }
}

#[tokio::test]
async fn what_computes_without_end_runs_out_of_fuel() {
    contained(LOOPS).await;
}

#[tokio::test]
async fn what_calls_too_deep_breaks_off() {
    contained(STACK).await;
}

#[tokio::test]
async fn what_takes_too_much_memory_is_stopped() {
    contained(MEMORY).await;
}

#[tokio::test]
async fn what_traps_breaks_off() {
    contained(TRAPS).await;
}

#[tokio::test]
async fn what_answers_wrongly_is_not_used() {
    contained(RESULTS).await;
}

#[tokio::test]
async fn what_floods_the_log_is_stopped() {
    contained(LOGS).await;
}

#[tokio::test]
async fn what_does_harm_as_it_starts_never_serves() {
    let bench = Bench::new().await;
    for (does, rest, wanted) in STARTS {
        let slot = bench.slot();
        let refusal =
            slot.offer(revision("bad", &scorer(TAKES, "(unreachable)", rest), 50_000_000)).await.expect_err(does);
        assert!(refusal.to_string().contains(wanted), "{does}: {refusal}");
        bench.good_answers().await;
    }
}

#[tokio::test]
async fn lines_over_the_bound_are_counted_and_lost() {
    let bench = Bench::new().await;
    let slot = bench.slot();
    let score =
        "(local $n i32) (loop (call $log (i32.const 2) (i32.const 1040) (i32.const 9) (i32.const 0) (i32.const 0))
        (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $n) (i32.const 100))))
        (call $scores (call $count (local.get $request)) (i64.const 1))";
    slot.offer(revision("bad", &scorer(TAKES, score, ""), 50_000_000)).await.unwrap();
    let question = Question::of(3);
    slot.judge(PlacementQuestion::Score, &question.request()).await.unwrap();
    let logs = slot.logs();
    assert_eq!((logs.lines.len(), logs.dropped), (64, 36));
    assert_eq!((logs.lines[0].level.as_str(), logs.lines[0].message.as_str()), ("info", "it is odd"));
}

#[tokio::test]
async fn what_outlasts_its_time_is_stopped_and_others_are_not_delayed() {
    let bench = Bench::new().await;
    let slot = bench.slot();
    let mut slow = revision("bad", &scorer(TAKES, "(loop (br 0)) (unreachable)", ""), 20_000_000_000);
    slow.limits.deadline = Duration::from_millis(100);
    slot.offer(slow).await.unwrap();
    let question = Question::of(3);
    let request = question.request();
    // On one thread: what computes has to give way for the others to answer at all.
    let (error, ()) = tokio::join!(slot.judge(PlacementQuestion::Score, &request), async {
        for _ in 0..3 {
            bench.good_answers().await;
        }
    });
    assert_eq!(error.unwrap_err(), CallError::Deadline(Duration::from_millis(100)));
}

#[tokio::test]
async fn the_same_question_burns_the_same_and_is_answered_the_same() {
    let bench = Bench::new().await;
    let question = Question::of(3);
    let mut enough = None;
    for fuel in (1_000..20_000).step_by(1_000) {
        let slot = bench.slot();
        if slot.offer(revision("p", &scoring(7), fuel)).await.is_err() {
            continue;
        }
        let first = slot.judge(PlacementQuestion::Score, &question.request()).await;
        for _ in 0..3 {
            assert_eq!(
                slot.judge(PlacementQuestion::Score, &question.request()).await.is_ok(),
                first.is_ok(),
                "{fuel}"
            );
        }
        enough = enough.or(first.ok().map(|_| fuel));
    }
    assert!(enough.is_some(), "some fuel is enough");
}

/// Bytes that are anybody's: whatever they are, there is an answer.
#[tokio::test]
async fn a_component_that_is_cut_or_changed_anywhere_is_refused_or_runs_and_the_host_goes_on() {
    let bench = Bench::new().await;
    let whole = scoring(7);
    for at in (0..whole.len()).step_by(7) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x55;
        for bytes in [&whole[..at], flipped.as_slice()] {
            let Ok(code) = Code::read(bytes) else { continue };
            let mut plugin = Plugin::of_file("bad", "");
            plugin.limits = Limits { fuel: 1_000_000, ..Limits::default() };
            let slot = bench.slot();
            if slot.offer(Revision::of_plugin(&plugin, code)).await.is_ok() {
                let question = Question::of(3);
                let _ = slot.judge(PlacementQuestion::Score, &question.request()).await;
            }
        }
    }
    bench.good_answers().await;
}

#[tokio::test]
async fn a_golden_case_that_fails_is_named_with_both_answers() {
    let bench = Bench::new().await;
    let case = |expected: [i64; 2]| {
        let candidates = json!([{"name": "a"}, {"name": "b"}]);
        json!([{"name": "two", "inputs": {"candidates": candidates}, "expect": {"scores": expected}}])
    };
    let offered = async |case: Value| {
        let wasm = with_section(scoring(7), "orrery:cases", &case);
        bench.slot().offer(revision("p", &wasm, 50_000_000)).await.map_err(|refusal| refusal.to_string())
    };
    assert_eq!(offered(case([7, 8])).await, Ok(1));
    let wrong = offered(case([8, 7])).await.unwrap_err();
    assert_eq!(wrong, r#"self-test: case "two": scores is [7,8], and [8,7] was expected"#);
    let unknown = offered(json!([{"name": "odd", "inputs": {}, "expect": {"colour": 1}}])).await.unwrap_err();
    assert!(unknown.contains("`colour` is nothing that can be expected"), "{unknown}");
    let section = with_section(scoring(7), "orrery:manifest", &json!({"nme": "p"}));
    let odd = Code::read(&section).unwrap_err().to_string();
    assert!(odd.starts_with("its section orrery:manifest is not what it should be: unknown field `nme`"), "{odd}");
}
