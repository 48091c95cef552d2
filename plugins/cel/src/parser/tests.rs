use cel::Env;
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::extensions;

use super::*;

/// The tree without ids and places, which differ between parsers.
fn shape(mut expression: IdedExpr) -> IdedExpr {
    clear(&mut expression);
    expression
}

fn clear(expression: &mut IdedExpr) {
    expression.id = 0;
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| clear(target));
            call.args.iter_mut().for_each(clear);
        }
        Expr::Comprehension(comprehension) => {
            let parts = [
                &mut comprehension.iter_range,
                &mut comprehension.accu_init,
                &mut comprehension.loop_cond,
                &mut comprehension.loop_step,
                &mut comprehension.result,
            ];
            parts.into_iter().for_each(clear);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(clear),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| {
            entry.id = 0;
            if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                clear(&mut entry.key);
                clear(&mut entry.value);
            }
        }),
        Expr::Select(select) => clear(&mut select.operand),
        _ => {}
    }
}

#[test]
fn the_tree_is_the_one_of_the_crates_own_parser() {
    let mut env = Env::stdlib();
    for extension in [extensions::strings, extensions::lists, extensions::math, extensions::encoders] {
        env.add_extension(extension).unwrap();
    }
    let texts = [
        "1",
        "-1",
        "- 1",
        "--1",
        "---x",
        "!a",
        "!!a",
        "!!!a",
        "-9223372036854775808",
        "0x1F",
        "-0x1f",
        "7u",
        "0xffu",
        "1.5",
        ".5",
        "1e3",
        "2.5E-3",
        "-1.5",
        "1.size()",
        "-1.abs()",
        "true",
        "null",
        "'a'",
        "\"a\\n\\x41\\u00e9\\101\"",
        "r'a\\n'",
        "b'\\xff'",
        "b\"abc\"",
        "br'\\x'",
        "'''a\n'b'\n'''",
        "\"\"\"x\"\"\"",
        "'\\''",
        "'\\\\'",
        "'\\U0001F600'",
        "a",
        ".a",
        "a.b.c",
        "a.b()",
        "f()",
        "f(1, x)",
        "a[0]",
        "a[0][1].b",
        "a.?b",
        "a[?0]",
        "a.?b.c[?'x'].d",
        "[1, 2, 3]",
        "[]",
        "[?a, b]",
        "[1,]",
        "{'a': 1, 'b': [2]}",
        "{}",
        "{?'a': x, 1: 2,}",
        "1 + 2 * 3 - 4 / 5 % 6",
        "(1 + 2) * 3",
        "a == b != c",
        "a < b <= c > d >= e",
        "a in b",
        "!(a in [1])",
        "a && b && c && d && e",
        "a || b || c",
        "a && b || c && d",
        "a ? b : c",
        "a ? b : c ? d : e",
        "(a ? b : c) ? d : e",
        "a || b ? c && d : e",
        "has(a.b)",
        "has(a.b.c) && x",
        "[1].all(x, x > 0)",
        "a.b.exists(t, t.k == 'v')",
        "a.exists_one(x, x)",
        "a.existsOne(x, x)",
        "a.map(x, x + 1)",
        "a.map(x, x > 1, x * 2)",
        "a.filter(x, x.y)",
        "a.map(x, x.map(y, y + x))",
        "[1].exists(x, [2].all(y, y > x))",
        "a.sortBy(x, x.n)",
        "math.greatest(1, 2)",
        "math.least([1])",
        "math.greatest(1, 2, 3)",
        "math.abs(-1)",
        "optional.of(1)",
        "optional.none().hasValue()",
        "'%s'.format([1])",
        "x.y.z(1).w",
        "a // comment\n + b",
        "\ta\r\n+b",
        "timestamp('2026-01-01T00:00:00Z') + duration('1h')",
        "a.b == 'c' || !has(d.e)",
        "type(1) == int",
        "{'a': {'b': [1, {'c': 2}]}}.a.b[1].c",
        "'a' + 'b' + 'c'",
        "a - -1",
        "a--1",
        "1 - 1",
        "x.f(-1)",
        "cluster.taints.exists(t, t.key == \"maintenance\" && t.effect == \"NoSchedule\")",
    ];
    for text in texts {
        let theirs = env.compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let ours = parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert_eq!(shape(ours.expression), shape(theirs.expression().clone()), "{text}");
    }
}

#[test]
fn what_is_no_expression_is_refused_with_its_place() {
    let cases = [
        ("", "line 1, column 1: the expression ends here; expected a value"),
        ("1 +", "line 1, column 4: the expression ends here; expected a value"),
        ("a = b", "line 1, column 3: = is no operator; write =="),
        ("a & b", "line 1, column 3: & is no operator; write &&"),
        ("a\n  b", "line 2, column 3: b cannot stand here; expected an operator or the end"),
        ("(1", "line 1, column 3: the expression ends here; expected )"),
        ("[1 2]", "line 1, column 4: 2 cannot stand here; expected , or ]"),
        ("{1}", "line 1, column 3: } cannot stand here; expected :"),
        ("a ? b", "line 1, column 6: the expression ends here; expected :"),
        ("'abc", "line 1, column 1: the string has no closing '"),
        ("'ab\n'", "line 1, column 1: the string has no closing ' on its line"),
        ("'\\q'", "line 1, column 2: \\q is no escape; a backslash is written \\\\"),
        ("'\\ud800'", "line 1, column 2: there is no character d800"),
        ("a.", "line 1, column 3: the expression ends here; expected the name of a field or a function"),
        ("9223372036854775808", "line 1, column 1: the number does not fit into an int; write it with a u"),
        ("99999999999999999999", "line 1, column 1: 99999999999999999999 does not fit into 64 bits"),
        ("has(a)", "line 1, column 5: has() needs a field, such as has(cluster.region)"),
        ("[1].map(1, 2)", "line 1, column 9: a variable is a simple name, such as x"),
        ("for", "line 1, column 1: for is a reserved word and cannot be a name"),
        ("a # b", "line 1, column 3: the character '#' has no meaning here"),
        ("é", "line 1, column 1: the character 'é' has no meaning here"),
        ("math.greatest()", "line 1, column 1: it needs a number at least, such as math.greatest(1, x)"),
    ];
    for (text, problem) in cases {
        assert_eq!(parse(text).map(|_| ()).unwrap_err().to_string(), problem, "{text}");
    }
}

#[test]
fn an_expression_that_is_too_long_or_too_deep_is_refused_and_does_not_overflow() {
    let deep = [
        "[".repeat(50_000),
        format!("{}1{}", "(".repeat(3000), ")".repeat(3000)),
        format!("1{}", " + 1".repeat(3000)),
        format!("x{}", ".a".repeat(3000)),
        format!("x{}", "[0]".repeat(3000)),
        "true ? 1 : ".repeat(1000) + "2",
        format!("{}1", "!(-(".repeat(3000)),
        format!("'a'{}", ".f()".repeat(3000)),
        "'a'".repeat(40) + &"x".repeat(20_000),
    ];
    for text in deep {
        let message = parse(&text).map(|_| ()).unwrap_err().message;
        assert!(["levels deep", "bytes at most", "expected"].iter().any(|part| message.contains(part)), "{message}");
    }
    // A long chain of conditions is a balanced tree.
    assert!(parse(&vec!["a.b == 'c'"; 1000].join(" || ")).is_ok());
    assert!(parse(&format!("1{}", " + 1".repeat(300))).is_ok());
}

#[test]
fn a_field_between_backticks_can_have_any_name_that_a_label_has() {
    let parsed = parse("cluster.labels.`topology.kubernetes.io/zone`").unwrap();
    assert!(matches!(&parsed.expression.expr, Expr::Select(select) if select.field == "topology.kubernetes.io/zone"));
    assert!(parse("`a`").is_err());
}
