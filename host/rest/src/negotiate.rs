//! Which form of an answer a client accepts (AS pkg/endpoints/handlers/negotiation/negotiate.go).

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
    /// One document for each.
    Legacy,
}

/// A negotiated form, and whether the client wants it indented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) form: Form,
    pub(crate) pretty: bool,
}

struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

const JSON: (&str, &str) = ("application", "json");

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

/// Negotiates the form of an object, list or watch; 406 where none is accepted that the host has: it has JSON.
pub(crate) fn object_form(accept: Option<&str>) -> Result<Accepted, Status> {
    let Some(accept) = accept.filter(|accept| !accept.is_empty()) else {
        return Ok(Accepted { form: Form::Plain, pretty: false });
    };
    clauses(accept)
        .iter()
        .filter(|clause| clause.takes(JSON))
        .find_map(accepted)
        .ok_or_else(|| Status::not_acceptable("only the following media types are accepted: application/json"))
}

/// Negotiates the form of `/api` and `/apis`.
pub(crate) fn discovery_form(accept: Option<&str>) -> Result<DiscoveryForm, Status> {
    let Some(accept) = accept.filter(|accept| !accept.is_empty()) else { return Ok(DiscoveryForm::Legacy) };
    let mut legacy = false;
    for clause in clauses(accept).iter().filter(|clause| clause.takes(JSON)) {
        let conversion = ["g", "v", "as"].map(|name| clause.parameter(name).unwrap_or_default());
        match conversion {
            ["apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"] => return Ok(DiscoveryForm::Aggregated),
            ["", "", ""] => legacy = true,
            _ => {}
        }
    }
    if legacy { Ok(DiscoveryForm::Legacy) } else { object_form(Some(accept)).map(|_| DiscoveryForm::Legacy) }
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

fn accepted(clause: &Clause<'_>) -> Option<Accepted> {
    if !matches!(clause.parameter("stream"), None | Some("" | "watch"))
        || !matches!(clause.parameter("sv"), None | Some("" | "v1"))
    {
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
    Some(Accepted { form, pretty })
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
