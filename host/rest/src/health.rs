//! `/livez`, `/readyz` and `/healthz`, in upstream's text (AS pkg/server/healthz).

use std::fmt;

use http::{Response, StatusCode};

use crate::body::{Body, text};
use crate::query::Query;

/// A named check of the host's health.
pub struct Check {
    /// Its name, as `/readyz/NAME` asks for it.
    pub name: &'static str,
    /// Why the host is not ready by it. Clients only see that it failed; the reason is logged.
    pub passes: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// Which of the endpoints is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Whether the process works at all.
    Live,
    /// Whether it shall be sent requests.
    Ready,
    /// The old name for ready.
    Health,
}

// === impl Check ===

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("name", &self.name).finish_non_exhaustive()
    }
}

// === impl Probe ===

impl Probe {
    /// The probe that a path asks for, and the one check of it that it names.
    pub(crate) fn of_path(path: &str) -> Option<(Self, Option<&str>)> {
        let path = path.trim_end_matches('/');
        [("/livez", Self::Live), ("/readyz", Self::Ready), ("/healthz", Self::Health)].into_iter().find_map(
            |(root, probe)| match path.strip_prefix(root)? {
                "" => Some((probe, None)),
                rest => rest.strip_prefix('/').map(|check| (probe, Some(check))),
            },
        )
    }

    fn name(self) -> &'static str {
        match self {
            Self::Live => "livez",
            Self::Ready => "readyz",
            Self::Health => "healthz",
        }
    }
}

/// Answers a probe. `checks` are those of readiness; a live process passes `ping` alone.
pub(crate) fn answer(probe: Probe, only: Option<&str>, query: &Query, checks: &[Check]) -> Response<Body> {
    let ping = Check { name: "ping", passes: Box::new(|| Ok(())) };
    let asked = std::iter::once(&ping).chain(checks.iter().filter(|_| probe != Probe::Live));
    if let Some(only) = only {
        return match asked.into_iter().find(|check| check.name == only).map(run) {
            Some(Ok(())) => text(StatusCode::OK, "ok"),
            Some(Err(line)) => text(StatusCode::INTERNAL_SERVER_ERROR, line),
            None => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        };
    }
    let mut unknown: Vec<&str> = query.all("exclude").collect();
    let (mut lines, mut failed) = (String::new(), false);
    for check in asked {
        if unknown.contains(&check.name) {
            unknown.retain(|name| *name != check.name);
            lines.push_str(&format!("[+]{} excluded: ok\n", check.name));
            continue;
        }
        match run(check) {
            Ok(()) => lines.push_str(&format!("[+]{} ok\n", check.name)),
            Err(line) => {
                failed = true;
                lines.push_str(&line);
            }
        }
    }
    if !unknown.is_empty() {
        let names: Vec<_> = unknown.iter().map(|name| format!("{name:?}")).collect();
        lines.push_str(&format!("warn: some health checks cannot be excluded: no matches for {}\n", names.join(",")));
    }
    match (failed, query.get("verbose")) {
        (true, _) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{} check failed\n", probe.name())),
        (false, None) => text(StatusCode::OK, "ok"),
        (false, Some(_)) => text(StatusCode::OK, format!("{lines}{} check passed\n", probe.name())),
    }
}

fn run(check: &Check) -> Result<(), String> {
    (check.passes)().map_err(|reason| {
        tracing::info!(check = check.name, reason, "health check failed");
        format!("[-]{} failed: reason withheld\n", check.name)
    })
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn asked(path: &str, query: &str, passes: bool) -> (u16, String) {
        let check =
            Check { name: "members", passes: Box::new(move || if passes { Ok(()) } else { Err("none".to_owned()) }) };
        let (probe, only) = Probe::of_path(path).unwrap();
        let answer = answer(probe, only, &Query::parse(query), &[check]);
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn probes_answer_in_upstreams_text() {
        for (path, query, passes, expected) in [
            ("/readyz", "", true, (200, "ok")),
            ("/readyz", "verbose", true, (200, "[+]ping ok\n[+]members ok\nreadyz check passed\n")),
            ("/readyz", "", false, (500, "[+]ping ok\n[-]members failed: reason withheld\nreadyz check failed\n")),
            (
                "/readyz",
                "verbose&exclude=members",
                false,
                (200, "[+]ping ok\n[+]members excluded: ok\nreadyz check passed\n"),
            ),
            (
                "/readyz",
                "verbose&exclude=x",
                true,
                (
                    200,
                    "[+]ping ok\n[+]members ok\nwarn: some health checks cannot be excluded: no matches for \"x\"\nreadyz check passed\n",
                ),
            ),
            ("/readyz/members", "", false, (500, "[-]members failed: reason withheld\n")),
            ("/readyz/ping", "", false, (200, "ok")),
            ("/readyz/other", "", false, (404, "404 page not found\n")),
            ("/livez", "verbose", false, (200, "[+]ping ok\nlivez check passed\n")),
            ("/healthz", "", true, (200, "ok")),
        ] {
            assert_eq!(asked(path, query, passes).await, (expected.0, expected.1.to_owned()), "{path}?{query}");
        }
    }

    #[test]
    fn other_paths_are_no_probes() {
        assert!(Probe::of_path("/readyzz").is_none());
        assert!(Probe::of_path("/api").is_none());
    }
}
