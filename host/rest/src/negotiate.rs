//! Which form of an answer a client accepts (AS pkg/endpoints/handlers/negotiation/negotiate.go).

use crate::body::Encoding;
use crate::status::Status;

/// The form of an object, list or watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// As it is.
    Plain,
    /// `meta.k8s.io Table`, in this version.
    Table(MetaVersion),
    /// `PartialObjectMetadata`.
    Partial(MetaVersion),
    /// `PartialObjectMetadataList`.
    PartialList(MetaVersion),
}

/// A version of meta.k8s.io.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

/// The form of a discovery document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryForm {
    /// One document that holds all groups, versions and resources.
    Aggregated,
    /// One document for each, written so.
    Legacy(Accepted),
}

/// How a document is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Syntax {
    #[default]
    Json,
    Yaml,
}

/// A negotiated form and syntax, and whether the client wants it indented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) form: Form,
    pub(crate) syntax: Syntax,
    pub(crate) pretty: bool,
}

struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

const JSON: (&str, &str) = ("application", "json");
/// What documents are written in, the first for who takes all.
const SYNTAXES: [((&str, &str), Syntax); 2] = [(JSON, Syntax::Json), (("application", "yaml"), Syntax::Yaml)];

// === impl MetaVersion ===

impl MetaVersion {
    /// What stands in `apiVersion`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }
}

// === impl Accepted ===

impl Accepted {
    /// What who names nothing gets.
    const PLAIN: Self = Self { form: Form::Plain, syntax: Syntax::Json, pretty: false };

    /// How the answer is encoded, where `encoding` is what the rest of the request says.
    pub(crate) fn encoding(self, encoding: Encoding) -> Encoding {
        Encoding { pretty: self.pretty || encoding.pretty, syntax: self.syntax, ..encoding }
    }
}

/// Negotiates the form of an object or a list; 406 where none is accepted that the host has.
pub(crate) fn object_form(accept: Option<&str>) -> Result<Accepted, Status> {
    let Some(accept) = accept.filter(|accept| !accept.is_empty()) else { return Ok(Accepted::PLAIN) };
    let wanted = clauses(accept);
    let mut offered = wanted.iter().flat_map(|clause| SYNTAXES.map(|(media, syntax)| (clause, media, syntax)));
    offered
        .find_map(|(clause, media, syntax)| clause.takes(media).then(|| accepted(clause, syntax)).flatten())
        .ok_or_else(|| not_acceptable("application/json, application/yaml"))
}

/// Negotiates the form of a watch. YAML has no frames.
pub(crate) fn watch_form(accept: Option<&str>) -> Result<Accepted, Status> {
    let accepted = object_form(accept).ok().filter(|accepted| accepted.syntax == Syntax::Json);
    accepted.ok_or_else(|| not_acceptable("application/json;stream=watch"))
}

/// How a refusal is written for who accepts this: it is a Status and nothing else. `None` where that is not accepted
/// either: upstream then writes indented JSON (AS responsewriters/writers.go).
pub(crate) fn refusal_syntax(accept: Option<&str>) -> Option<Syntax> {
    let Some(accept) = accept.filter(|accept| !accept.is_empty()) else { return Some(Syntax::Json) };
    let wanted = clauses(accept);
    let mut offered = wanted.iter().flat_map(|clause| SYNTAXES.map(|(media, syntax)| (clause, media, syntax)));
    let plain = offered.find_map(|(clause, media, syntax)| {
        clause.takes(media).then(|| accepted(clause, syntax)).flatten().filter(|accepted| accepted.form == Form::Plain)
    });
    plain.map(|accepted| accepted.syntax)
}

/// Negotiates the form of `/api` and `/apis`.
pub(crate) fn discovery_form(accept: Option<&str>) -> Result<DiscoveryForm, Status> {
    let aggregates = |clause: &Clause<'_>| {
        let conversion = ["g", "v", "as"].map(|name| clause.parameter(name).unwrap_or_default());
        conversion == ["apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"] && clause.takes(JSON)
    };
    if clauses(accept.unwrap_or_default()).iter().any(aggregates) {
        return Ok(DiscoveryForm::Aggregated);
    }
    object_form(accept).map(DiscoveryForm::Legacy)
}

/// Whether an answer is indented: as `?pretty` says, else for what people use (curl, Wget, browsers).
pub(crate) fn pretty(parameter: Option<&str>, user_agent: Option<&str>) -> bool {
    match parameter {
        Some(text) if !text.is_empty() => matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        _ => {
            user_agent.is_some_and(|agent| ["curl", "Wget", "Mozilla/5.0"].iter().any(|known| agent.starts_with(known)))
        }
    }
}

fn not_acceptable(offered: &str) -> Status {
    Status::not_acceptable(format!("only the following media types are accepted: {offered}"))
}

fn accepted(clause: &Clause<'_>, syntax: Syntax) -> Option<Accepted> {
    let known = match clause.parameter("stream") {
        None | Some("") => true,
        Some(stream) => syntax == Syntax::Json && stream == "watch",
    };
    if !known || !matches!(clause.parameter("sv"), None | Some("" | "v1")) {
        return None;
    }
    let pretty = clause.parameter("pretty") == Some("1");
    let conversion = ["as", "g", "v"].map(|name| clause.parameter(name));
    let form = match conversion {
        [None, None, None] => Form::Plain,
        [Some(kind), Some("meta.k8s.io"), Some(version)] => {
            let version = MetaVersion::parse(version)?;
            match kind {
                "Table" => Form::Table(version),
                "PartialObjectMetadata" => Form::Partial(version),
                "PartialObjectMetadataList" => Form::PartialList(version),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Accepted { form, syntax, pretty })
}

// === impl Clause ===

impl<'a> Clause<'a> {
    fn parse(part: &'a str) -> Option<Self> {
        let mut pieces = part.split(';');
        let media = pieces.next()?.trim();
        let (kind, subtype) = if media == "*" { ("*", "*") } else { media.split_once('/')? };
        if subtype.contains('/') {
            return None;
        }
        let mut clause = Self { kind: kind.trim(), subtype: subtype.trim(), quality: 1.0, parameters: Vec::new() };
        for piece in pieces {
            match piece.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
                Some(("q", value)) => clause.quality = value.parse().unwrap_or(0.0),
                Some(pair) if !pair.1.contains('=') => clause.parameters.push(pair),
                _ => {}
            }
        }
        Some(clause)
    }

    fn takes(&self, (kind, subtype): (&str, &str)) -> bool {
        matches!((self.kind, self.subtype), ("*", "*")) || self.kind == kind && [subtype, "*"].contains(&self.subtype)
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// Fewer wildcards make a clause more specific.
    fn precision(&self) -> (bool, bool) {
        (self.kind != "*", self.subtype != "*")
    }
}

/// The clauses of an Accept header, the most wanted first. Equals stay in their order.
fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<_> = header.split(',').filter_map(|part| Clause::parse(part.trim())).collect();
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality).then_with(|| b.precision().cmp(&a.precision())));
    clauses
}

#[cfg(test)]
mod tests;
