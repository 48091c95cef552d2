use orrery_api::ObjectKey;
use orrery_markers::Marker;

use super::*;

/// What a LIST with this query reads, or code and message of its refusal. `TOKEN` stands for a token of marker 7.
fn list(query: &str) -> String {
    let token = ContinueToken { at: Some(Marker::new(7).unwrap()), after: ObjectKey::new("a", "b"), selected_by: 0 };
    let query = Query::parse(&query.replace("TOKEN", &token.encode("")));
    let outcome = ListOptions::parse(&query, false).and_then(|options| options.list_start("", true));
    outcome.map_or_else(said, |start| format!("{start:?}"))
}

fn watch(query: &str) -> String {
    let outcome = ListOptions::parse(&Query::parse(query), true).and_then(|options| options.watch_start());
    outcome.map_or_else(said, |start| format!("{start:?}"))
}

#[expect(clippy::needless_pass_by_value, reason = "handed to map_or_else")]
fn said(status: Status) -> String {
    format!("{} {status}", status.code().as_u16())
}

#[test]
fn the_list_matrix() {
    let invalid = |text: &str| format!("422 ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: {text}");
    let next = "Continue(ContinueToken { at: Some(Marker(7)), after: ObjectKey { namespace: \"a\", name: \"b\" }, selected_by: 0 })";
    for (query, expected) in [
        ("", "Latest"),
        ("limit=5", "Latest"),
        ("resourceVersion=0", "Any"),
        ("resourceVersion=0&limit=5", "Any"),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan", "Any"),
        ("resourceVersion=9", "NotOlderThan(9)"),
        ("resourceVersion=9&limit=0", "NotOlderThan(9)"),
        ("resourceVersion=9&limit=5", "Exact(9)"),
        ("resourceVersion=9&limit=5&resourceVersionMatch=NotOlderThan", "NotOlderThan(9)"),
        ("resourceVersion=9&resourceVersionMatch=Exact", "Exact(9)"),
        ("resourceVersion=9&limit=5&resourceVersionMatch=Exact", "Exact(9)"),
        ("continue=TOKEN", next),
        ("continue=TOKEN&resourceVersion=0&limit=5", next),
        ("continue=TOKEN&resourceVersion=9", "400 specifying resource version is not allowed when using continue"),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            &invalid(r#"Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0""#),
        ),
        (
            "resourceVersionMatch=Exact",
            &invalid("Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ),
        (
            "resourceVersion=9&resourceVersionMatch=Exact&continue=TOKEN",
            &invalid("Forbidden: resourceVersionMatch is forbidden when continue is provided"),
        ),
        (
            "resourceVersion=9&resourceVersionMatch=x",
            &invalid(r#"Unsupported value: "x": supported values: "Exact", "NotOlderThan", """#),
        ),
        (
            "resourceVersion=abc",
            r#"400 invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax"#,
        ),
        (
            "resourceVersion=-1",
            r#"400 invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax"#,
        ),
        (
            "sendInitialEvents=true",
            "422 ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
        ),
        ("limit=x", r#"400 strconv.ParseInt: parsing "x": invalid syntax"#),
    ] {
        assert_eq!(list(query), expected, "{query:?}");
    }
    let garbage = list("continue=garbage");
    assert!(garbage.starts_with("400 invalid continue token: continue key is not valid"), "{garbage}");
}

#[test]
fn the_old_watch_paths_are_held_to_the_rules_of_lists() {
    let begun = |query: &str| {
        let outcome = ListOptions::parse(&Query::parse(query), false).and_then(|options| options.watch_start());
        outcome.map_or_else(said, |start| format!("{start:?}"))
    };
    for (query, expected) in [
        ("", "Unended"),
        ("resourceVersion=0", "Unended"),
        ("resourceVersion=9", "After(9)"),
        ("resourceVersion=9&resourceVersionMatch=NotOlderThan", "After(9)"),
    ] {
        assert_eq!(begun(query), expected, "{query:?}");
    }
    assert!(begun("sendInitialEvents=true").contains("sendInitialEvents is forbidden for list"));
}

#[test]
fn a_time_that_no_clock_can_hold_is_cut() {
    let timeout =
        |text: &str| ListOptions::parse(&Query::parse(&format!("timeoutSeconds={text}")), true).unwrap().timeout;
    assert_eq!(timeout("9223372036854775807"), Some(Duration::from_secs(SECONDS_MAX)));
    assert_eq!(timeout("-9223372036854775808"), Some(Duration::ZERO));
    assert_eq!(timeout("0"), None);
}

#[test]
fn several_errors_are_listed_together() {
    assert_eq!(
        list("resourceVersionMatch=Exact&continue=TOKEN"),
        "422 ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is \
         forbidden unless resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is \
         forbidden when continue is provided]"
    );
}

#[test]
fn the_watch_matrix() {
    let invalid = |text: &str| format!("422 ListOptions.meta.k8s.io \"\" is invalid: {text}");
    let needs =
        "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    for (query, expected) in [
        ("", "Initial(0)"),
        ("resourceVersion=0", "Initial(0)"),
        ("resourceVersion=9", "After(9)"),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "Initial(0)"),
        ("resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "Initial(0)"),
        ("resourceVersion=9&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "Initial(9)"),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "Now"),
        ("resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "Now"),
        ("resourceVersion=9&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "After(9)"),
        ("sendInitialEvents=true", &invalid(needs)),
        ("resourceVersion=9&sendInitialEvents=false", &invalid(needs)),
        (
            "resourceVersion=9&resourceVersionMatch=NotOlderThan",
            &invalid(
                "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ),
        ),
        (
            "resourceVersion=abc",
            r#"400 resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax"#,
        ),
    ] {
        assert_eq!(watch(query), expected, "{query:?}");
    }
}
