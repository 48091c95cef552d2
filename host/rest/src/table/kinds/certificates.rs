//! Requests for certificates, and the bundles of whom to trust.

use std::time::Duration;

use serde::de::IgnoredAny;

use super::Kind;
use crate::table::age;
use crate::table::cells::{Cells, NONE};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Condition, Conditions, Map, Metadata, Object, Text, fields};
use crate::table::json::{Unreadable, read};
use crate::table::selector::labels_or_none;

pub(super) static SIGNING_REQUESTS: Kind = Kind {
    columns: &[
        NAME,
        AGE,
        text("SignerName", "Who shall sign."),
        text("Requestor", "Who asks for the certificate."),
        text("RequestedDuration", "How long the certificate shall be valid."),
        text("Condition", "What has become of the request."),
    ],
    print: signing_request,
};

pub(super) static TRUST_BUNDLES: Kind =
    Kind { columns: &[NAME, text("SignerName", "Whose certificates the bundle is for.")], print: trust_bundle };

pub(super) static POD_REQUESTS: Kind = Kind {
    columns: &[
        NAME,
        text("PodName", "The pod that the certificate is for."),
        text("ServiceAccountName", "The service account of the pod."),
        text("NodeName", "The node that runs the pod."),
        text("SignerName", "Who shall sign."),
        text("State", "What has become of the request: Pending, Issued, Denied or Failed."),
        text("UnverifiedUserAnnotations", "What the pod's author says to the signer."),
    ],
    print: pod_request,
};

type SigningRequest<'a> = Object<Metadata<'a>, SigningSpec<'a>, SigningStatus<'a>>;
type PodRequest<'a> = Object<Metadata<'a>, PodRequestSpec<'a>, Conditions<'a>>;

fields! {
    struct SigningSpec<'a> {
        signer_name: Text<'a>,
        username: Text<'a>,
        expiration_seconds: Option<i64>,
    }

    struct SigningStatus<'a> {
        conditions: Vec<Condition<'a>>,
        certificate: Text<'a>,
    }

    struct PodRequestSpec<'a> {
        pod_name: Text<'a>,
        service_account_name: Text<'a>,
        node_name: Text<'a>,
        signer_name: Text<'a>,
        unverified_user_annotations: Map<'a>,
    }

    struct BundleSpec<'a> {
        signer_name: Text<'a>,
    }
}

fn signing_request(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let SigningRequest { metadata, spec, status } = read(body)?;
    let lasts = spec.expiration_seconds.map(|s| age::human(Duration::from_secs(s.try_into().unwrap_or_default())));
    cells.text(&metadata.name).age(&metadata.creation_timestamp).text_or(&spec.signer_name, NONE).text(&spec.username);
    cells.field_or(lasts, NONE).text(status.text());
    Ok(())
}

fn trust_bundle(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, BundleSpec<'_>, IgnoredAny> = read(body)?;
    cells.text(&metadata.name).text_or(&spec.signer_name, NONE);
    Ok(())
}

fn pod_request(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let PodRequest { metadata, spec, status } = read(body)?;
    let mut kinds = status.conditions.iter().rev().map(|condition| &*condition.kind);
    let state = kinds.find(|kind| matches!(*kind, "Issued" | "Denied" | "Failed"));
    cells.text(&metadata.name).text(&spec.pod_name).text(&spec.service_account_name).text(&spec.node_name);
    cells.text(&spec.signer_name).text(state.unwrap_or("Pending"));
    cells.text(labels_or_none(&spec.unverified_user_annotations));
    Ok(())
}

// === impl SigningStatus ===

impl SigningStatus<'_> {
    /// A denial counts for more than an approval; that the signer failed, or has signed, is added.
    fn text(&self) -> String {
        let is = |kind| self.conditions.iter().any(|condition| &*condition.kind == kind);
        let mut parts = vec![match (is("Denied"), is("Approved")) {
            (true, _) => "Denied",
            (false, true) => "Approved",
            (false, false) => "Pending",
        }];
        parts.extend(is("Failed").then_some("Failed"));
        parts.extend((!self.certificate.is_empty()).then_some("Issued"));
        parts.join(",")
    }
}
