//! Rules in CEL that mean harm, or were written wrong: whatever they are, the host says what became of each, and goes on.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use orrery_harness::{ClusterSpec, HostSpec, eventually};
use orrery_real::Kind;
use serde_json::{Value, json};

const YAML: (&str, &str) = ("content-type", "application/yaml");

/// How long the component of CEL may take to compile where nothing was compiled before.
const COMPILED: Duration = Duration::from_secs(150);

/// How long one rule may take, from its text to what became of it.
const EACH: Duration = Duration::from_secs(20);

/// The expressions, each with what it is.
fn rules() -> Vec<(String, String)> {
    let mut rules = Vec::new();
    let mut add = |what: &str, expression: String| rules.push((format!("{what} ({})", rules.len()), expression));
    for terms in [1_000, 1_425, 3_000, 8_000] {
        add("a long sum", format!("{} > 0", vec!["1"; terms].join("+")));
        add("a long chain of fields", format!("cluster{} == 1", ".labels".repeat(terms)));
        add("a long chain of indexes", format!("[[1]]{} == 1", "[0]".repeat(terms)));
        add("a long chain of calls", format!("\"a\"{} == 'a'", ".lowerAscii()".repeat(terms)));
        add("a long conjunction", vec!["true"; terms].join("&&"));
        add("a long disjunction", vec!["false"; terms].join("||"));
    }
    for depth in [20, 96, 400, 5_000] {
        add("parentheses", format!("{}true{}", "(".repeat(depth), ")".repeat(depth)));
        add("brackets", format!("{}1{} == []", "[".repeat(depth), "]".repeat(depth)));
        add("maps", format!("{}1{} == {{}}", "{1:".repeat(depth), "}".repeat(depth)));
        add("ternaries", format!("{}true", "true ? false : ".repeat(depth)));
        add("negations", format!("{}true", "!".repeat(depth)));
        add("minus signs", format!("{}1 < 5", "-".repeat(depth)));
        add("mixed signs", format!("{}1{} < 5", "!(-(".repeat(depth), "))".repeat(depth)));
    }
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    for depth in [3, 5, 8, 12] {
        let open: String = (0..depth).map(|at| format!("{ten}.all(v{at}, ")).collect();
        add("loops in loops", format!("{open}true{}", ")".repeat(depth)));
        let open: String = (0..depth).map(|at| format!("{ten}.map(v{at}, ")).collect();
        add("lists of lists", format!("{open}1{}.size() > 0", ")".repeat(depth)));
        let doubled = (0..depth * 4).fold("['x']".to_owned(), |list, _| format!("({list}).map(s, s + s)"));
        add("strings that double", format!("{doubled}[0].size() > 0"));
        let doubled =
            (0..depth * 3).fold("[1]".to_owned(), |list, at| format!("cel.bind(l{at}, {list}, l{at} + l{at})"));
        add("lists that double", format!("({doubled}).size() > 0"));
    }
    for number in ["1000000000000", "100000000", "9223372036854775807", "-1"] {
        add("a range", format!("lists.range({number}).size() > 0"));
        add("a format", format!("'%.{number}f'.format([1.0]) == ''"));
        add("a repeat", format!("'ab'.split('').map(c, c)[{number}] == ''"));
    }
    for pattern in
        ["(a+)+$", "(a|aa)+$", "(.*)*x", "[a-z]{1000}{1000}", "(((((a{100}){100}){100}){100}){100})", "(?:", "a{,"]
    {
        add("a pattern", format!("'{}!'.matches('{pattern}')", "a".repeat(200)));
        add("a pattern that is found", format!("'{}!'.findAll('{pattern}').size() >= 0", "a".repeat(200)));
    }
    for quantity in ["1e999999999", "1E-999999999", "-", "1KiB", "99999999999999999999999999Ei"] {
        add("a quantity", format!("quantity('{quantity}').isGreaterThan(quantity('1'))"));
    }
    for odd in [
        "9223372036854775807 + 1 > 0",
        "-9223372036854775807 - 2 < 0",
        "1 / 0 == 0",
        "1 % 0 == 0",
        "1.0 / 0.0 > 0.0",
        "'\\xff' == ''",
        "'\\U00110000' == ''",
        "b'\\377' == b''",
        "timestamp('9999-12-31T23:59:59Z') + duration('9000000h') > now",
        "duration('1' + '0'.replace('0', '00000000000000000000') + 's') > duration('1s')",
        "timestamp('2026-13-45T99:99:99Z') > now",
        "now.getHours('Nowhere/Nothing') > 0",
        "Foo{a: 1} == Foo{a: 1}",
        "google.protobuf.Any{} == null",
        "{1: 1, 1: 2}.size() > 0",
        "[1, 2, 3][1e10] == 1",
        "cluster.labels[''] == ''",
        "ip('999.999.999.999').isGlobalUnicast()",
        "cidr('0.0.0.0/99').containsIP('1.2.3.4')",
        "url('http://[::1').getHost() == ''",
        "semver('1.2.3.4.5').major() > 0",
        "'a'.charAt(9999999999) == ''",
        "'abc'.substring(3, 1) == ''",
        "[].min() > 0",
        "variables.nothing",
        "has(cluster)",
        "cluster.all(x, true)",
        "\u{0}",
        "'unfinished",
        "// only a comment",
        "",
    ] {
        add("odd", odd.to_owned());
    }
    rules
}

/// A rule whose test evaluates it on a cluster; what the test expects is wrong, so that every rule ends with a reason.
fn document(expression: &str) -> String {
    let spec = json!({
        "target": {"stage": "filter"},
        "limits": {"fuel": 200_000_000},
        "expressions": [{"name": "hostile", "expression": expression}],
        "tests": [{"name": "evaluated", "inputs": {"candidates": [{"name": "east", "labels": {"tier": "gold"}}]}, "expect": {"kept": ["nobody"]}}],
    });
    json!({"apiVersion": "orrery.dev/v1alpha1", "kind": "CelPolicy", "metadata": {"name": "hostile"}, "spec": spec})
        .to_string()
}

#[test]
fn every_hostile_rule_is_contained_and_named_and_others_are_answered() -> Result<()> {
    let east = ClusterSpec::bare("east").start()?;
    let folder = tempfile::tempdir()?;
    let host = HostSpec::new().member(&east).flag(format!("--extensions={}", folder.path().display())).start()?;
    let client = host.client()?;
    eventually("the component of CEL is compiled", COMPILED, || {
        let tried = client.send("POST", "/orrery/v1/try", &[YAML], document("true").as_bytes())?.success()?;
        ensure!(tried[0]["step"] == "self-test", "{tried}");
        Ok(())
    })?;
    let rules = rules();
    ensure!(rules.len() >= 100, "there are only {}", rules.len());
    let idle = host.rss_bytes()?;
    for (at, (what, expression)) in rules.iter().enumerate() {
        let begun = Instant::now();
        let answer = client.send("POST", "/orrery/v1/try", &[YAML], document(expression).as_bytes());
        let answer = answer.with_context(|| format!("{what}: the host did not answer"))?;
        let tried: Value = answer.success().with_context(|| what.clone())?;
        let (step, reason) = (&tried[0]["step"], tried[0]["reason"].as_str().unwrap_or_default());
        ensure!(matches!(step.as_str(), Some("check-params" | "self-test")) && !reason.is_empty(), "{what}: {tried}");
        ensure!(begun.elapsed() < EACH, "{what}: {} s", begun.elapsed().as_secs());
        if at % 10 == 0 {
            let made =
                client.create(Kind::ConfigMaps.in_default(), &json!({"metadata": {"name": format!("m{at}")}}))?;
            ensure!(made["metadata"]["uid"].is_string(), "{what}: a create got {made}");
        }
    }
    let grown = host.rss_bytes()?.saturating_sub(idle);
    ensure!(grown < 200 << 20, "the host grew by {} MiB", grown >> 20);
    Ok(())
}
