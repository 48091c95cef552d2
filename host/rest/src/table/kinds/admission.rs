//! What judges or changes writes: webhooks, policies and their bindings.

use super::Kind;
use crate::table::cells::{Cells, UNSET};
use crate::table::column::{AGE, NAME, integer, text};
use crate::table::field::{Length, Metadata, Object, Text, fields};
use crate::table::json::{Unreadable, read};
use crate::table::selector::Selector;

/// MutatingWebhookConfigurations and ValidatingWebhookConfigurations.
pub(super) static WEBHOOKS: Kind =
    Kind { columns: &[NAME, integer("Webhooks", "How many webhooks it has."), AGE], print: webhooks };

pub(super) static VALIDATING_POLICIES: Kind = Kind {
    columns: &[
        NAME,
        integer("Validations", "How many conditions a write must meet."),
        text("ParamKind", "The kind of objects that say more to the policy."),
        AGE,
    ],
    print: validating_policy,
};

pub(super) static MUTATING_POLICIES: Kind = Kind {
    columns: &[
        NAME,
        integer("Mutations", "How many changes it makes to a write."),
        text("ParamKind", "The kind of objects that say more to the policy."),
        AGE,
    ],
    print: mutating_policy,
};

/// ValidatingAdmissionPolicyBindings and MutatingAdmissionPolicyBindings.
pub(super) static BINDINGS: Kind = Kind {
    columns: &[
        NAME,
        text("PolicyName", "The policy that it puts in force."),
        text("ParamRef", "The objects that say more to the policy, by name or label."),
        AGE,
    ],
    print: binding,
};

fields! {
    struct Webhooks<'a> {
        metadata: Metadata<'a>,
        webhooks: Length,
    }

    struct PolicySpec<'a> {
        validations: Length,
        mutations: Length,
        param_kind: Option<ParamKind<'a>>,
    }

    struct ParamKind<'a> {
        api_version: Text<'a>,
        kind: Text<'a>,
    }

    struct BindingSpec<'a> {
        policy_name: Text<'a>,
        param_ref: Option<ParamRef<'a>>,
    }

    struct ParamRef<'a> {
        namespace: Text<'a>,
        name: Text<'a>,
        selector: Option<Selector<'a>>,
    }
}

type Policy<'a> = Object<Metadata<'a>, PolicySpec<'a>>;

fn webhooks(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Webhooks { metadata, webhooks } = read(body)?;
    cells.text(&metadata.name).count(webhooks.len()).age(&metadata.creation_timestamp);
    Ok(())
}

fn validating_policy(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    policy(&read(body)?, |spec| spec.validations.len(), cells);
    Ok(())
}

fn mutating_policy(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    policy(&read(body)?, |spec| spec.mutations.len(), cells);
    Ok(())
}

fn policy(policy: &Policy<'_>, rules: fn(&PolicySpec<'_>) -> usize, cells: &mut Cells<'_>) {
    let Policy { metadata, spec, .. } = policy;
    let kind = spec.param_kind.as_ref().map(|kind| format!("{}/{}", &*kind.api_version, &*kind.kind));
    cells.text(&metadata.name).count(rules(spec)).field_or(kind, UNSET).age(&metadata.creation_timestamp);
}

fn binding(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, BindingSpec<'_>> = read(body)?;
    cells.text(&metadata.name).text(&spec.policy_name);
    cells.field_or(spec.param_ref.as_ref().and_then(ParamRef::text), UNSET).age(&metadata.creation_timestamp);
    Ok(())
}

// === impl ParamRef ===

impl ParamRef<'_> {
    fn text(&self) -> Option<String> {
        match (&*self.namespace, &*self.name) {
            (_, "") => self.selector.as_ref().map(Selector::go_text),
            ("", name) => Some(format!("*/{name}")),
            (namespace, name) => Some(format!("{namespace}/{name}")),
        }
    }
}
