//! Signatures of functions, read from the table when one is called.

use super::types::{Bound, Type};
use crate::library::conversions::{REPLACED, REPLACED_MEMBERS};
use crate::library::table::{GROUPS, HIDDEN, NAMESPACES};
use crate::schema::{CANDIDATE, TAINT, UNIT};

/// One signature. Of a member the target is the first argument.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) written: &'static str,
    pub(super) is_member: bool,
    arguments: Vec<Type>,
    result: Type,
}

/// All signatures of the functions and members of this name, which has its namespace before it.
pub(super) fn named(name: &str) -> Vec<Signature> {
    let is_replaced =
        |name: &&str| REPLACED.contains(name) || REPLACED_MEMBERS.iter().any(|(member, _)| member == name);
    let name = name.strip_prefix('@').filter(is_replaced).unwrap_or(name);
    all().filter(|written| name_of(written).1 == name).filter_map(Signature::read).collect()
}

/// The names of all functions that are called so.
pub(super) fn names(members: bool) -> impl Iterator<Item = &'static str> {
    let shown = all().filter(move |written| name_of(written).0 == members && !written.contains('@'));
    shown.map(|written| name_of(written).1)
}

fn all() -> impl Iterator<Item = &'static str> {
    let shown = GROUPS.iter().flat_map(|group| group.functions).flat_map(|function| function.0.split(" | "));
    shown.chain(HIDDEN.iter().copied())
}

/// Whether it is a member, and its name.
fn name_of(written: &'static str) -> (bool, &'static str) {
    let head = &written[..head_end(written)];
    match head.rfind('.') {
        Some(dot) if !NAMESPACES.contains(&&head[..dot]) || is_address(written) => (true, &head[dot + 1..]),
        _ => (false, head),
    }
}

/// `ip` is both a type with members and a namespace of one function.
fn is_address(written: &str) -> bool {
    written.starts_with("ip.") && !written.starts_with("ip.isCanonical")
}

/// Where the parenthesis of the arguments opens.
fn head_end(written: &str) -> usize {
    written.find('(').unwrap_or(written.len())
}

// === impl Signature ===

impl Signature {
    fn read(written: &'static str) -> Option<Self> {
        let (is_member, _) = name_of(written);
        let open = head_end(written);
        let close = written.find(") -> ")?;
        let mut arguments = Vec::new();
        if is_member {
            arguments.push(read_type(&written[..written[..open].rfind('.')?]));
        }
        arguments.extend(divided(&written[open + 1..close]).into_iter().map(read_type));
        Some(Self { written, is_member, arguments, result: read_type(&written[close + 5..]) })
    }

    /// What it gives for these arguments; none where they are not right.
    pub(super) fn result(&self, given: &[Type]) -> Option<Type> {
        if given.len() != self.arguments.len() {
            return None;
        }
        let mut bound = Bound::new();
        let fits = self.arguments.iter().zip(given).all(|(wanted, given)| wanted.takes(given, &mut bound));
        fits.then(|| self.result.filled(&bound))
    }
}

fn read_type(written: &str) -> Type {
    let written = written.trim();
    if let Some((outer, inner)) = written.strip_suffix('>').and_then(|rest| rest.split_once('<')) {
        let inner: Vec<Type> = divided(inner).into_iter().map(read_type).collect();
        return match (outer, inner.as_slice()) {
            ("list", [of]) => Type::list(of.clone()),
            ("optional", [of]) => Type::Optional(Box::new(of.clone())),
            ("map", [key, value]) => Type::map(key.clone(), value.clone()),
            _ => Type::Dyn,
        };
    }
    match written {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::Text,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "type" => Type::Meta,
        "cluster" => Type::Object(&CANDIDATE),
        "unit" => Type::Object(&UNIT),
        "taint" => Type::Object(&TAINT),
        _ => match written.chars().next() {
            Some(letter) if letter.is_ascii_uppercase() => Type::Parameter(letter),
            _ => opaque(written),
        },
    }
}

fn opaque(written: &str) -> Type {
    let known = ["quantity", "semver", "ip", "cidr", "url", "formatter", "spread"];
    known.into_iter().find(|name| *name == written).map_or(Type::Dyn, Type::Opaque)
}

/// The parts between commas that stand in no brackets.
fn divided(written: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in written.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(written[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !written.trim().is_empty() {
        parts.push(written[start..].trim());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::table::MACROS;

    #[test]
    fn every_signature_of_the_table_is_read_whole() {
        for written in all() {
            let signature = Signature::read(written).unwrap_or_else(|| panic!("{written}"));
            let shown = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
            let (_, name) = name_of(written);
            let again = if signature.is_member {
                format!(
                    "{}.{name}({}) -> {}",
                    signature.arguments[0],
                    shown(&signature.arguments[1..]),
                    signature.result
                )
            } else {
                format!("{name}({}) -> {}", shown(&signature.arguments), signature.result)
            };
            assert_eq!(again, written);
        }
        assert!(all().count() > 150);
        assert!(MACROS.len() > 20);
    }
}
