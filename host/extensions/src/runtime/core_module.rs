//! A component of a core module.
//!
//! A module that was built with bindings says in a section of its own which world it is of. That is not read: the decoder of
//! such sections recurses without end over some that are wrong. The module's world is made here instead, of the interfaces
//! whose functions it exports, so all that it can say is which of ours these are.

use std::collections::BTreeSet;

use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::CodeError;

/// What a plugin may export.
const EXPORTS: [&str; 7] = [
    "lifecycle",
    "placement-filter",
    "placement-score",
    "placement-select",
    "placement-split",
    "virtual-labels",
    "named-selector",
];

const WIT: &str = include_str!("../../../../wit/plugin/0.1.0/plugin.wit");

/// The component that `module` is, by the names of what it exports (`orrery:plugin/placement-score@0.1.0#score`).
pub(super) fn component(module: &[u8]) -> Result<Vec<u8>, CodeError> {
    let (exports, mut module) = taken_apart(module)?;
    let interfaces = EXPORTS.iter().filter(|interface| exports.contains(**interface));
    let interfaces: Vec<String> =
        interfaces.map(|interface| format!("export orrery:plugin/{interface}@0.1.0;")).collect();
    if interfaces.is_empty() {
        return Err(CodeError::Module("it exports no interface of orrery:plugin@0.1.0".to_owned()));
    }
    let mut encode = || -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut resolve = Resolve::default();
        resolve.push_str("plugin.wit", WIT)?;
        let world =
            format!("package orrery:core; world core {{ include orrery:plugin/host@0.1.0; {} }}", interfaces.concat());
        let package = resolve.push_str("core.wit", &world)?;
        let world = resolve.select_world(&[package], Some("core"))?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
        Ok(ComponentEncoder::default().validate(true).module(&module)?.encode()?)
    };
    encode().map_err(|error| CodeError::Module(format!("{error:#}")))
}

/// The interfaces that a module exports functions of, and the module without what it says of its world.
fn taken_apart(module: &[u8]) -> Result<(BTreeSet<String>, Vec<u8>), CodeError> {
    let damaged = |error: wasmparser::BinaryReaderError| CodeError::Damaged(error.to_string());
    let mut exports = BTreeSet::new();
    let mut stripped = module.get(..8).unwrap_or_default().to_vec();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.map_err(damaged)?;
        match &payload {
            Payload::CustomSection(section) if section.name().starts_with("component-type") => continue,
            Payload::ExportSection(section) => {
                for export in section.clone() {
                    exports.extend(interface(export.map_err(damaged)?.name).map(str::to_owned));
                }
            }
            _ => {}
        }
        if let Some((id, range)) = payload.as_section() {
            stripped.push(id);
            append_number(&mut stripped, range.len());
            stripped.extend_from_slice(&module[range]);
        }
    }
    Ok((exports, stripped))
}

/// The interface of ours that an exported function is of.
fn interface(export: &str) -> Option<&str> {
    let (interface, _) = export.strip_prefix("orrery:plugin/")?.split_once('#')?;
    interface.strip_suffix("@0.1.0")
}

/// LEB128, as sizes stand in WebAssembly.
fn append_number(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}
