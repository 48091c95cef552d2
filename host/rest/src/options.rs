//! The options of LIST and WATCH: read, checked and turned into what shall be read, in upstream's order and words
//! (AM pkg/apis/meta/internalversion: defaults.go, validation/validation.go; AS pkg/storage/util.go).

use std::time::Duration;

use crate::query::{Query, go_number_error, quoted};
use crate::status::{Cause, Status};
use crate::token::ContinueToken;

/// Options as the query spells them, checked against each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListOptions {
    /// `labelSelector`, not parsed.
    pub(crate) label_selector: String,
    /// `fieldSelector`, not parsed.
    pub(crate) field_selector: String,
    /// Objects on a page; `None` is all.
    pub(crate) limit: Option<usize>,
    /// `allowWatchBookmarks`.
    pub(crate) bookmarks: bool,
    /// `timeoutSeconds`; `None` leaves the time to the server, a negative one is over at once.
    pub(crate) timeout: Option<Duration>,
    resource_version: String,
    version_match: String,
    resume: String,
    send_initial_events: Option<bool>,
}

/// Which state a LIST reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListStart {
    /// The state of now, with every write acknowledged before.
    Latest,
    /// Whatever the cache has.
    Any,
    /// A state that has this version behind it.
    NotOlderThan(u64),
    /// The state at this version.
    Exact(u64),
    /// The next page.
    Continue(ContinueToken),
}

/// Where a WATCH begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchStart {
    /// With all objects as ADDED, in a state that has the version behind it (0: whatever there is), then live.
    Initial(u64),
    /// The same of whatever there is, without telling where the objects end: the old `watch/` paths.
    Unended,
    /// With the first change after the version.
    After(u64),
    /// With the first change after now.
    Now,
}

const EXACT: &str = "Exact";
const NOT_OLDER_THAN: &str = "NotOlderThan";

// === impl ListOptions ===

impl ListOptions {
    /// Reads the options of a LIST (`watch` false) or WATCH; 400 for a value of another type, 422 for what contradicts.
    pub(crate) fn parse(query: &Query, watch: bool) -> Result<Self, Status> {
        let limit = query.number("limit")?.unwrap_or_default();
        let seconds = query.number("timeoutSeconds")?;
        let mut options = Self {
            label_selector: query.text("labelSelector"),
            field_selector: query.text("fieldSelector"),
            limit: usize::try_from(limit).ok().filter(|&limit| limit > 0),
            bookmarks: query.flag("allowWatchBookmarks") == Some(true),
            timeout: seconds.filter(|&seconds| seconds != 0).map(lasting),
            resource_version: query.text("resourceVersion"),
            version_match: query.text("resourceVersionMatch"),
            resume: query.text("continue"),
            send_initial_events: query.flag("sendInitialEvents"),
        };
        if watch {
            options.default_initial_events();
        }
        let errors = if watch { options.watch_errors() } else { options.list_errors() };
        if errors.is_empty() { Ok(options) } else { Err(Status::invalid_list_options(&errors)) }
    }

    /// Which state the LIST reads, in a resource that is `namespaced` or not and the scope `namespace` (empty: all).
    pub(crate) fn list_start(&self, namespace: &str, namespaced: bool) -> Result<ListStart, Status> {
        if !self.resume.is_empty() {
            let token = ContinueToken::decode(&self.resume, namespace, namespaced)?;
            if !matches!(self.resource_version.as_str(), "" | "0") {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            return Ok(ListStart::Continue(token));
        }
        if self.resource_version.is_empty() {
            return Ok(ListStart::Latest);
        }
        let invalid = |error: String| Status::bad_request(format!("invalid resource version: {error}"));
        Ok(match (self.version().map_err(invalid)?, self.version_match.as_str()) {
            (0, _) => ListStart::Any,
            (version, EXACT) => ListStart::Exact(version),
            // Of old a version with a limit and no match means just that version.
            (version, "") if self.limit.is_some() => ListStart::Exact(version),
            (version, _) => ListStart::NotOlderThan(version),
        })
    }

    /// Where the WATCH begins.
    pub(crate) fn watch_start(&self) -> Result<WatchStart, Status> {
        let version = self.version().map_err(Status::bad_request)?;
        Ok(match self.send_initial_events {
            Some(true) => WatchStart::Initial(version),
            None if version == 0 => WatchStart::Unended,
            _ if version == 0 => WatchStart::Now,
            _ => WatchStart::After(version),
        })
    }

    /// For GET: the version that the object must not be older than; 0 is none.
    pub(crate) fn get_version(query: &Query) -> Result<u64, Status> {
        parse_version(&query.text("resourceVersion")).map_err(Status::bad_request)
    }

    fn version(&self) -> Result<u64, String> {
        parse_version(&self.resource_version)
    }

    /// A watch from no version or "0" of a client that says nothing of initial events wants them, as it always did.
    fn default_initial_events(&mut self) {
        let silent = self.send_initial_events.is_none() && self.version_match.is_empty();
        if silent && matches!(self.resource_version.as_str(), "" | "0") {
            self.send_initial_events = Some(true);
            self.version_match = NOT_OLDER_THAN.to_owned();
        }
    }

    fn list_errors(&self) -> Vec<Cause> {
        let mut errors = Vec::new();
        if !self.version_match.is_empty() {
            if self.resource_version.is_empty() {
                errors.push(match_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"));
            }
            if !self.resume.is_empty() {
                errors.push(match_forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
            if ![EXACT, NOT_OLDER_THAN].contains(&self.version_match.as_str()) {
                errors.push(self.match_not_supported(r#""Exact", "NotOlderThan", """#));
            }
            if self.version_match == EXACT && self.resource_version == "0" {
                errors.push(match_forbidden(r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#));
            }
        }
        if self.send_initial_events.is_some() {
            errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        errors
    }

    fn watch_errors(&self) -> Vec<Cause> {
        let mut errors = Vec::new();
        let not_older_than = self.version_match == NOT_OLDER_THAN;
        if self.send_initial_events.is_some() && !not_older_than {
            errors.push(match_forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        if !self.version_match.is_empty() {
            if self.send_initial_events.is_none() {
                errors.push(match_forbidden(
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            if !not_older_than {
                errors.push(self.match_not_supported(r#""NotOlderThan""#));
            }
            if !self.resume.is_empty() {
                errors.push(match_forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        errors
    }

    fn match_not_supported(&self, supported: &str) -> Cause {
        // Upstream prints this one as JSON.
        let value = serde_json::Value::from(self.version_match.as_str());
        let message = format!("Unsupported value: {value}: supported values: {supported}");
        Cause { reason: "FieldValueNotSupported", message, field: "resourceVersionMatch" }
    }
}

/// No watch lasts longer than this, and no sum of times overflows.
const SECONDS_MAX: u64 = 366 * 24 * 3600;

fn lasting(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default().min(SECONDS_MAX))
}

fn match_forbidden(why: &str) -> Cause {
    forbidden("resourceVersionMatch", why)
}

fn forbidden(field: &'static str, why: &str) -> Cause {
    Cause { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field }
}

/// A resourceVersion as a number; 0 for none and "0". Says no more than upstream's error would.
fn parse_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    // Go's ParseUint takes no sign, Rust's takes a plus.
    let parsed = if text.starts_with('+') { "+".parse() } else { text.parse() };
    parsed.map_err(|error| {
        let reason = format!("strconv.ParseUint: {}", go_number_error(text, &error));
        format!("resourceVersion: Invalid value: {}: {reason}", quoted(text))
    })
}

#[cfg(test)]
mod tests;
