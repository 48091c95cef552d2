use anyhow::Result;
use orrery_compat::unversioned;
use orrery_harness::Response;

use super::{Pair, Request, code_and_text, same};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Values of every type and of none.
const GARBAGE: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "true",
    "false",
    "False",
    "yes",
    "x",
    "%00",
    "%zz",
    "1;2",
    "+5",
    "1.5",
    "0x10",
    "1e3",
    "99999999999999999999",
    "-9223372036854775808",
    "%F0%9F%92%A5",
    "%22%5C%0A",
    "a%3Db%2C",
    "%2C%2C",
    "!!",
    "a in (",
];

const PARAMETERS: &[&str] = &[
    "limit",
    "continue",
    "labelSelector",
    "fieldSelector",
    "resourceVersionMatch",
    "sendInitialEvents",
    "watch",
    "allowWatchBookmarks",
    "timeoutSeconds",
    "pretty",
    "timeout",
    "includeObject",
    "nosuch",
];

/// Where the host differs on purpose: selectors with a NUL byte, which Go's lexer takes for the end.
fn is_apart(parameter: &str, value: &str) -> bool {
    parameter == "labelSelector" && value == "%00"
}

#[test]
fn garbage_in_every_parameter_is_refused_in_the_same_words() -> Result<()> {
    let lists = PARAMETERS.iter().flat_map(|parameter| {
        GARBAGE.iter().filter(|value| !is_apart(parameter, value)).map(move |value| (*parameter, *value))
    });
    let paths: Vec<String> = lists
        .flat_map(|(parameter, value)| {
            let value = value.replace(' ', "%20");
            let ends = if parameter == "timeoutSeconds" { "" } else { "&timeoutSeconds=1" };
            let list = format!("{MAPS}?{parameter}={value}{ends}");
            let watch = format!("{MAPS}?watch=1&resourceVersion=0&{parameter}={value}{ends}");
            let get = format!("{MAPS}/a?{parameter}={value}");
            // Others are read as in a list, and a watch whose time is garbage may last.
            let watches = ["Selector", "Match", "Events", "Bookmarks"].iter().any(|part| parameter.ends_with(part));
            if watches { vec![list, watch, get] } else { vec![list, get] }
        })
        .collect();
    let requests: Vec<Request<'_>> = paths.iter().map(|path| ("GET", path.as_str(), &[] as &[_])).collect();
    let pair = Pair::start()?;
    same(&pair, &requests, code_and_words)?;
    // Go quotes single bytes of what is no UTF-8.
    let no_text: Vec<String> =
        PARAMETERS.iter().map(|parameter| format!("{MAPS}?{parameter}=%C3%28&timeoutSeconds=1")).collect();
    let requests: Vec<Request<'_>> = no_text.iter().map(|path| ("GET", path.as_str(), &[] as &[_])).collect();
    same(&pair, &requests, |answer| Ok(answer.status))
}

#[test]
fn repeated_and_odd_parameters_mean_the_same() -> Result<()> {
    let queries = [
        "limit=1&limit=x",
        "limit=x&limit=1",
        "labelSelector=a%3Db&labelSelector=",
        "fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db",
        "watch=0&watch=1",
        "watch=false",
        "watch=FALSE",
        "limit=1&;limit=2",
        "limit=%31",
        "limi%74=1",
        "LIMIT=1",
        "pretty=true",
        "pretty=t&limit=1",
        "pretty=yes",
        "&&&",
        "=",
        "timeout=5s",
        "timeout=1h2m3.5s",
        "fieldSelector=metadata.name%3Da&limit=2",
    ];
    let lists: Vec<String> = queries.iter().map(|query| format!("{MAPS}?{query}")).collect();
    let watch = "/api/v1/watch/namespaces/default/configmaps";
    let others = [
        format!("{watch}?timeoutSeconds=1"),
        format!("{watch}?timeoutSeconds=3&allowWatchBookmarks=1"),
        format!("{MAPS}?watch&timeoutSeconds=3&allowWatchBookmarks"),
        format!("{watch}?timeoutSeconds=1&watch=1&allowWatchBookmarks=1"),
        format!("{watch}/a?timeoutSeconds=1"),
        format!("{watch}/nosuch?timeoutSeconds=1"),
        format!("{watch}/a?timeoutSeconds=1&fieldSelector=metadata.name%3Db"),
        format!("{watch}/a/b?timeoutSeconds=1"),
        format!("{watch}?timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        format!("{watch}?timeoutSeconds=1&resourceVersionMatch=Exact&resourceVersion=0"),
        format!("{watch}?timeoutSeconds=1&timeout=abc"),
        "/api/v1/watch/namespaces/default/nosuch".to_owned(),
        "/api/v1/watch/configmaps?timeoutSeconds=1&fieldSelector=metadata.namespace%3Ddefault".to_owned(),
        "/api/v1/watch/namespaces/default?timeoutSeconds=1".to_owned(),
        "/apis/sky.example.com/v1/watch/comets?timeoutSeconds=1".to_owned(),
        "/apis/sky.example.com/v1/watch/namespaces/default/comets/halley?timeoutSeconds=1".to_owned(),
        "/apis/apps/v1/watch/deployments?timeoutSeconds=1".to_owned(),
    ];
    let requests: Vec<Request<'_>> =
        lists.iter().chain(&others).map(|path| ("GET", path.as_str(), &[] as &[_])).collect();
    let pair = Pair::start()?;
    same(&pair, &requests, |answer| {
        let (code, text) = code_and_text(answer)?;
        let lines = text.lines().filter(|line| !is_progress(line));
        Ok((code, without_token(&lines.collect::<Vec<_>>().join("\n"))))
    })?;
    let posts: [Request<'_>; 1] = [("POST", watch, &[])];
    same(&pair, &posts, |answer| Ok(answer.status))
}

/// Bookmarks come when they come; but for the one that ends the initial events.
fn is_progress(line: &str) -> bool {
    line.contains(r#""type":"BOOKMARK""#) && !line.contains("initial-events-end")
}

/// Tokens hold versions.
fn without_token(text: &str) -> String {
    let Some((before, after)) = text.split_once(r#""continue":"#) else { return text.to_owned() };
    let rest = after.trim_start_matches([' ', '"']);
    format!("{before}{}", rest.split_once('"').map_or("", |(_, rest)| rest))
}

/// What is wrong with a token is said in the words of each one's base64 and JSON.
const TOKEN: &str = "invalid continue token: continue key is not valid";

/// Code, reason and message; of a watch what its events are.
fn code_and_words(answer: &Response) -> Result<(u16, String)> {
    let text = unversioned(&answer.text());
    let words = match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(status) if status["kind"] == "Status" => {
            let message = status["message"].as_str().unwrap_or_default();
            format!("{} {}", status["reason"], if message.starts_with(TOKEN) { TOKEN } else { message })
        }
        Ok(list) => format!("{} {}", list["kind"], list["items"].as_array().map_or(0, Vec::len)),
        Err(_) => text.lines().filter(|line| !is_progress(line)).collect::<Vec<_>>().join("\n"),
    };
    Ok((answer.status, words))
}
