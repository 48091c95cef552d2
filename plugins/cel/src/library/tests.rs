use serde_json::json;

use super::table::{GROUPS, MACROS};
use crate::testing::{Ask, cluster};

/// A filter of one expression over a cluster that the examples of the reference are about.
fn ask(expression: &str) -> Ask {
    let east = json!({
        "labels": {"zone": "a"},
        "taints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}],
        "version": "v1.37.0",
        "region": "eu-1",
        "scores": {"cost": {"value": 7, "ageMs": 1000, "expired": false}, "old": {"value": 1, "ageMs": 9, "expired": true}},
    });
    Ask::new(json!({"target": {"stage": "filter"}, "expressions": [{"name": "x", "expression": expression}]}))
        .unit(json!({"tolerations": [{"key": "spot", "operator": "Exists"}]}))
        .current(&[("east", 2), ("west", 1), ("north", 5)])
        .candidates([
            cluster("east", east),
            cluster("west", json!({"labels": {"zone": "a"}})),
            cluster("north", json!({})),
        ])
}

/// What the expression gives for the first cluster: `true`, `false` or the error.
fn given(expression: &str) -> String {
    match ask(expression).verdicts().expect("it is a policy").remove(0).reason {
        None => "true".to_owned(),
        Some(reason) if reason.code == "PolicyFalse" => "false".to_owned(),
        Some(reason) => reason.message.trim_start_matches("cluster east: expression x: ").to_owned(),
    }
}

#[test]
fn every_example_of_the_reference_has_no_problem_and_is_true() {
    let functions = GROUPS.iter().flat_map(|group| group.functions).chain(MACROS);
    for function in functions {
        assert_eq!(ask(function.1).problems(), "", "{}: {}", function.0, function.1);
        assert_eq!(given(function.1), "true", "{}: {}", function.0, function.1);
    }
}

#[test]
fn expressions_are_what_kubernetes_makes_of_them() {
    let all = [
        // Numbers.
        "1 + 2 * 3 == 7",
        "7 / 2 == 3",
        "-7 / 2 == -3",
        "-7 % 3 == -1",
        "7.0 / 2.0 == 3.5",
        "1 < 2.5",
        "2u > 1.5",
        "1u < 2",
        "0x10 == 16",
        "1e3 == 1000.0",
        "9223372036854775807 > 0",
        "-9223372036854775808 < 0",
        "double(3) == 3.0",
        "int(3.9) == 3",
        "int(-3.9) == -3",
        "string(1.5) == '1.5'",
        "string(true) == 'true'",
        "int('-5') == -5",
        "uint('5') == 5u",
        "math.greatest(1, 2, 3) == 3",
        "math.least([4, 2]) == 2",
        "math.round(-1.5) == -2.0",
        "math.bitNot(5) == -6",
        // Strings and bytes.
        "'a' + 'b' == 'ab'",
        "'a' < 'b'",
        "'día'.size() == 3",
        "bytes('día').size() == 4",
        "r'a\\n'.size() == 3",
        "'''a'b''' == \"a'b\"",
        "'\\u00e9' == 'é'",
        "b'abc' == bytes('abc')",
        "'abc'.contains('')",
        "'TacoCat'.lowerAscii() == 'tacocat'",
        "'%s|%d|%.2f|%x|%b'.format(['a', 3, 1.5, 255, 5]) == 'a|3|1.50|ff|101'",
        "'a,b,,c'.split(',').size() == 4",
        "'x'.matches('^x$') && !'xy'.matches('^x$')",
        "'xay'.matches('a')",
        "'2026-11-30'.find('[0-9]{2}$') == '30'",
        "'aXbXc'.replace('X', '') == 'abc'",
        "' \\ta\\n'.trim() == 'a'",
        "'gums'.reverse() == 'smug'",
        "'hello'.substring(0, 4) == 'hell'",
        // Lists and maps.
        "[1, 2] + [3] == [1, 2, 3]",
        "1 in [1, 2]",
        "!(3 in [1, 2])",
        "'a' in {'a': 1}",
        "[1, 2][1] == 2",
        "{'a': 1}.a == 1",
        "{'a': 1}['a'] == 1",
        "{1: 'x'}[1] == 'x'",
        "size([1, 2]) == 2",
        "size({}) == 0",
        "[] == []",
        "{'a': [1]} == {'a': [1]}",
        "[1, 2].all(x, x > 0) && ![1, 2].all(x, x > 1)",
        "![].exists(x, true)",
        "[].all(x, false)",
        "[1, 2, 3].filter(x, x % 2 == 1) == [1, 3]",
        "[[1, 2], [3]].map(l, l.size()) == [2, 1]",
        "[1, 2].map(x, [1, 2].map(y, x * y)) == [[1, 2], [2, 4]]",
        "{'b': 1, 'a': 2}.map(k, k).sort() == ['a', 'b']",
        "[3, 1].sort() == [1, 3]",
        "[1, 1, 2].distinct() == [1, 2]",
        "['a', 'b'].exists_one(x, x == 'a')",
        "[1, 2, 3].slice(0, 0) == []",
        "[[1], [[2]]].flatten(2) == [1, 2]",
        "[1, 2].sum() == 3",
        "[].sum() == 0",
        "[duration('1m'), duration('30s')].sum() == duration('90s')",
        "[1.5, 0.5].max() == 1.5",
        "['b', 'a'].min() == 'a'",
        "[[1], [1]].indexOf([1]) == 0",
        "[2, 1, 2].lastIndexOf(2) == 2",
        "[].isSorted()",
        "sets.contains([1], [])",
        "!sets.intersects([], [1])",
        "sets.equivalent([], [])",
        "!sets.equivalent([1], [1, 2])",
        "[?optional.none(), 1] == [1]",
        "{?'a': optional.of(1)} == {'a': 1}",
        "{'a': {'b': 1}}.?a.?b.orValue(0) == 1",
        "{'a': {'b': 1}}.?x.?b.orValue(0) == 0",
        "[1][?5].orValue(9) == 9",
        "optional.of('a').optMap(x, x + 'b').orValue('') == 'ab'",
        // Documents, and what expressions make.
        "cluster.labels == {'zone': 'a'}",
        "{'zone': 'a'} == cluster.labels",
        "cluster.labels != {'zone': 'b'}",
        "[cluster.labels] == [{'zone': 'a'}]",
        "cluster.taints == [{'key': 'spot', 'value': 'true', 'effect': 'NoSchedule'}]",
        "cluster.taints[0] in cluster.taints",
        "{'key': 'spot', 'value': 'true', 'effect': 'NoSchedule'} in cluster.taints",
        "cluster.taints + [] == cluster.taints",
        "cluster.taints.map(t, t.key) == ['spot']",
        "cluster.labels.map(k, k) == ['zone']",
        "cluster.labels.exists(k, v, v == 'a')",
        "cluster.labels.all(k, cluster.labels[k] == 'a')",
        "size(cluster.labels) == 1",
        "has(cluster.labels.zone) && !has(cluster.labels.other)",
        "cluster.labels.?other.hasValue() == false",
        "cluster.taints.first().value().key == 'spot'",
        "type(cluster.labels) == map && type(cluster.taints) == list",
        "unit.tolerations.size() == 1",
        "current.filter(c, c.cluster == 'north')[0].replicas == 5",
        "current.map(c, c.replicas).sum() == 8",
        "cluster.scores.cost.value == 7",
        "cluster.score('old', 0) == 0",
        "cluster.taints.sortBy(t, t.key)[0].key == 'spot'",
        "cluster.name == 'east'",
        "'cost' in cluster.scores",
        // Logic.
        "true || 1 / 0 == 1",
        "1 / 0 == 1 || true",
        "!(false && 1 / 0 == 1)",
        "!(1 / 0 == 1 && false)",
        "true ? true : 1 / 0 == 1",
        "[0, 1].exists(x, 1 / x == 1)",
        "![0, 2].all(x, 2 / x == 5)",
        "!!true",
        "!(!true)",
        "null == null",
        "dyn(null) == null",
        "type(null) == null_type",
        "dyn(1) == 1u",
        "cel.bind(a, 2, cel.bind(b, a + 1, a * b)) == 6",
        // Time.
        "timestamp('2026-11-30T18:00:00Z') - timestamp('2026-11-30T17:00:00Z') == duration('1h')",
        "timestamp('2026-11-30T18:00:00Z') + duration('6h') > timestamp('2026-11-30T23:00:00Z')",
        "duration('1h').getMinutes() == 60",
        "timestamp('2026-11-30T18:00:00+02:00').getHours() == 16",
        "timestamp('2026-11-30T18:00:00Z').getHours('+05:30') == 23",
        "duration('-1.5s') == duration('-1500ms')",
        "string(duration('90s')) == '90s'",
        "int(timestamp('1970-01-01T00:00:10Z')) == 10",
        "now == timestamp(0)",
        // Quantities.
        "quantity('1') == quantity('1000m')",
        "quantity('1Ki') == quantity('1024')",
        "quantity('1e3') == quantity('1k')",
        "quantity('0.5') == quantity('500m')",
        "quantity('+1') == quantity('1')",
        "quantity('-1').isLessThan(quantity('0'))",
        "quantity('1E') == quantity('1000P')",
        "quantity('1Ei').isGreaterThan(quantity('1E'))",
        "quantity('.5') == quantity('500m')",
        "quantity('5.') == quantity('5')",
        "quantity('100n').sign() == 1",
        "!isQuantity('')",
        "!isQuantity('1 Gi')",
        "!isQuantity('Gi')",
        "!isQuantity('1.2.3')",
        "!isQuantity('--1')",
        "!isQuantity('1gi')",
        "isQuantity('1E2')",
        "quantity('0.1n').sign() == 1",
        "quantity('50k').sub(20000) == quantity('30k')",
        "quantity('10').add(quantity('-10')).sign() == 0",
        // Addresses.
        "ip('10.0.0.1') == ip('10.0.0.1')",
        "ip('::1') == ip('0:0:0:0:0:0:0:1')",
        "!isIP('::ffff:10.0.0.1')",
        "!isIP('fe80::1%eth0')",
        "!isIP('010.0.0.1')",
        "!isIP('10.0.0.1/8')",
        "string(ip('::1')) == '::1'",
        "!isCIDR('10.0.0.0')",
        "!isCIDR('10.0.0.0/08')",
        "cidr('0.0.0.0/0').containsIP('255.255.255.255')",
        "!cidr('::/0').containsIP('10.0.0.1')",
        "cidr('2001:db8::/32').containsIP('2001:db8::1')",
        "cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8')",
        "string(cidr('10.0.0.0/8')) == '10.0.0.0/8'",
        "cidr('::1/64').masked() == cidr('::/64')",
        "ip('ff02::1').isLinkLocalMulticast()",
        "ip('fe80::1').isLinkLocalUnicast()",
        "ip('::').isUnspecified()",
        "!ip('::1').isGlobalUnicast()",
        // URLs.
        "url('https://user:pass@host.example:443/p?q=1#f').getHost() == 'host.example:443'",
        "url('/a/b').getScheme() == ''",
        "url('HTTPS://a/').getScheme() == 'https'",
        "url('https://a?x=1').getQuery() == {'x': ['1']}",
        "url('https://a/?x=a+b').getQuery().x == ['a b']",
        "url('https://a/?x').getQuery().x == ['']",
        "!isURL('')",
        "!isURL('../a')",
        "!isURL('https://a b/')",
        "!isURL('https://a:port/')",
        "isURL('https://[::1]/')",
        "!isURL('https://[::1')",
        "url('https://a').getEscapedPath() == ''",
        // Versions.
        "semver('1.0.0-alpha').isLessThan(semver('1.0.0-alpha.1'))",
        "semver('1.0.0-alpha.9').isLessThan(semver('1.0.0-alpha.10'))",
        "semver('1.0.0-1').isLessThan(semver('1.0.0-a'))",
        "semver('1.0.0+a') == semver('1.0.0+b') || true",
        "!isSemver('1.2')",
        "!isSemver('01.2.3')",
        "!isSemver('1.2.3-')",
        "isSemver('1.2.3-a.b+c')",
        "!isSemver('v1.2.3')",
        "isSemver('v1.2.3', true)",
        "semver('v1.2', true).patch() == 0",
        "semver('01.02.03', true) == semver('1.2.3')",
        "semver(cluster.version, true).isGreaterThan(semver('1.36.9'))",
        // Named formats.
        "!format.dns1123Subdomain().validate('a.b').hasValue()",
        "format.dns1123Label().validate('a.b').hasValue()",
        "format.dns1035Label().validate('1a').hasValue()",
        "!format.dns1123LabelPrefix().validate('web-').hasValue()",
        "!format.qualifiedName().validate('example.dev/Name_1').hasValue()",
        "format.labelValue().validate('-a').hasValue()",
        "!format.labelValue().validate('').hasValue()",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
        "format.uuid().validate('x').hasValue()",
        "!format.byte().validate('aGk=').hasValue()",
        "format.byte().validate('aGk').hasValue()",
        "!format.datetime().validate('2026-11-30T18:00:00Z').hasValue()",
        "format.datetime().validate('2026-11-30').hasValue()",
        "!format.uri().validate('https://a.example/').hasValue()",
        "format.named('dns1123Label').value().validate('A').hasValue()",
    ];
    for expression in all {
        assert_eq!(given(expression), "true", "{expression}");
    }
    assert!(all.len() > 180, "{}", all.len());
}

#[test]
fn errors_are_told_in_the_terms_of_the_language() {
    for (expression, error) in [
        ("cluster.labels.gpu == 'x'", "no such key: gpu, in cluster.labels.gpu at line 1, column 1"),
        ("1 / 0 == 1", "division by zero, in 1 / 0 at line 1, column 1"),
        ("1 % 0 == 1", "modulus by zero, in 1 % 0 at line 1, column 1"),
        ("9223372036854775807 + 1 > 0", "integer overflow, in 9223372036854775807 + 1 at line 1, column 1"),
        ("[1][5] == 1", "index out of range: 5, in [1][5] at line 1, column 1"),
        ("cluster.taints[1].key == ''", "index out of range: 1, in cluster.taints[1] at line 1, column 1"),
        ("dyn(1) + dyn('a') == 2", "no such overload: int add string, in dyn(1) + dyn('a') at line 1, column 1"),
        ("dyn('a').size(1) == 1", "no such overload: string.size(int), in dyn('a').size(1) at line 1, column 1"),
        ("dyn(1) < dyn('a')", "no such overload: int < string"),
        ("dyn(1)", "it gives 1, not true or false"),
        ("cluster.score('none') > 1", "score: there is no score none, in cluster.score('none') at line 1, column 1"),
        (
            "cluster.scoreAge('old') < duration('1s')",
            "scoreAge: there is no score old, in cluster.scoreAge('old') at line 1, column 1",
        ),
        (
            "quantity('10Mo').sign() == 0",
            "quantity: \"10Mo\" is no quantity; write a number with a suffix, such as 500m, 2 or 1.5Gi, in quantity('10Mo') at line 1, column 1",
        ),
        (
            "quantity('1500m').asInteger() == 1",
            "asInteger: the quantity is no whole number of 64 bits, in quantity('1500m').asInteger() at line 1, column 1",
        ),
        ("ip('x').family() == 4", "ip: \"x\" is no IP address, in ip('x') at line 1, column 1"),
        (
            "semver('1').major() == 1",
            "semver: \"1\" is no semantic version; write it as 1.2.3, in semver('1') at line 1, column 1",
        ),
        ("'a'.matches('(')", "matches: unclosed group"),
        (
            "[1, 2].map(x, dyn('a') + dyn(x)).size() == 1",
            "no such overload: string add int, in [1, 2].map(x, dyn('a') + dyn(x)) at line 1, column 1",
        ),
        (
            "{'a': 1}.transformMapEntry(k, v, {'x': v}).size() == 1 && {'a': 1, 'b': 2}.transformMapEntry(k, v, {'x': v}).size() == 1",
            "the key \"x\" comes twice in a map, in {'a': 1, 'b': 2}.transformMapEntry(k, v, {'x': v}) at line 1, column 59",
        ),
        ("[].min() == 1", "min: the list is empty, in [].min() at line 1, column 1"),
        (
            "[dyn(1), dyn(null)].max() == 1",
            "list: elements that cannot be compared: null, in [dyn(1), dyn(null)].max() at line 1, column 1",
        ),
    ] {
        assert_eq!(given(expression), error, "{expression}");
    }
}

#[test]
fn a_pattern_that_is_too_large_is_an_error() {
    for pattern in ["a".repeat(2000), "(a{1000}){1000}".to_owned(), "\\pL{500}{500}".to_owned()] {
        let error = given(&format!("'a'.matches(r'{pattern}')"));
        assert!(error.starts_with("matches: "), "{error}");
    }
}

/// Whole numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// An expression of the reference with some of its characters taken out, doubled or exchanged for those of others.
fn mutated(dice: &mut Dice, examples: &[&str]) -> String {
    let mut text: Vec<char> = examples[dice.below(examples.len())].chars().collect();
    let other: Vec<char> = examples[dice.below(examples.len())].chars().collect();
    for _ in 0..=dice.below(4) {
        let at = dice.below(text.len().max(1));
        match dice.below(4) {
            0 if !text.is_empty() => drop(text.remove(at)),
            1 => text.insert(at, "()[]{}.,?:'\"\\`!-+*/%<>=&|019exé\n\u{0}".chars().nth(dice.below(30)).unwrap_or(' ')),
            2 => {
                let start = dice.below(other.len());
                let end = start + dice.below(other.len() - start);
                text.splice(at..at, other[start..end].iter().copied());
            }
            _ => text.truncate(at),
        }
    }
    text.into_iter().collect()
}

#[test]
fn whatever_is_written_is_refused_or_evaluated_and_never_panics() {
    // Unoptimised frames are large, and a mutation can be deep.
    let tried = std::thread::Builder::new().stack_size(64 << 20).spawn(|| {
        let examples: Vec<&str> =
            GROUPS.iter().flat_map(|group| group.functions).chain(MACROS).map(|function| function.1).collect();
        let mut dice = Dice(20_261_130);
        let mut right = 0;
        for _ in 0..5_000 {
            let text = mutated(&mut dice, &examples);
            let ask = ask(&text);
            if ask.problems().is_empty() {
                right += 1;
                let line = ask.filtered().remove(0);
                assert!(line.starts_with("east "), "{text}: {line}");
            }
        }
        right
    });
    let right = tried.expect("a thread can be started").join().expect("nothing panicked");
    assert!(right > 200, "only {right} of the mutations were right");
}
