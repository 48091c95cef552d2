//! What fuzzing calls: readers of what clients send. Each must bear any bytes.

use crate::negotiate;
use crate::options::ListOptions;
use crate::query::Query;
use crate::token::ContinueToken;

/// Reads a query string, and the options of a list and of a watch from it.
pub fn query(text: &str) {
    let query = Query::parse(text);
    for watch in [false, true] {
        let Ok(options) = ListOptions::parse(&query, watch) else { continue };
        // Whether they can be met is another question; a refusal is an answer.
        let _ = options.list_start("", true);
        let _ = options.watch_start();
    }
}

/// Reads a continue token; one that is taken is written as it is read.
pub fn continue_token(text: &str) {
    for (namespace, namespaced) in [("", true), ("a", true), ("", false)] {
        let Ok(token) = ContinueToken::decode(text, namespace, namespaced) else { continue };
        let again = ContinueToken::decode(&token.encode(namespace), namespace, namespaced);
        assert_eq!(again.ok(), Some(token), "it is not read as it was written");
    }
}

/// Reads an Accept header, for each kind of answer.
pub fn accept(text: &str) {
    let _ = negotiate::object_form(Some(text));
    let _ = negotiate::watch_form(Some(text));
    let _ = negotiate::refusal_syntax(Some(text));
    let _ = negotiate::discovery_form(Some(text));
}
