use std::fmt;
use std::sync::Arc;

use orrery_api::extension::{Case, Manifest};
use sha2::{Digest as _, Sha256};
use wasmparser::{Parser, Payload};

use super::core_module;

/// A component's bytes, with what it says of itself.
#[derive(Clone, PartialEq)]
pub(crate) struct Code {
    /// Of the bytes as they were given, `sha256:…`.
    pub(crate) digest: String,
    /// As it was given.
    pub(crate) given: Arc<[u8]>,
    /// A component, also where a core module was given.
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) manifest: Manifest,
    pub(crate) cases: Vec<Case>,
}

/// Why bytes are no component.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum CodeError {
    /// They are too many.
    #[error("it has {0} bytes, and {BYTES_MAX} are the most")]
    Large(usize),
    /// They are not WebAssembly.
    #[error("it is no WebAssembly: a component or a core module begins with \\0asm")]
    NotWasm,
    /// A module that no component can be made of.
    #[error("no component can be made of this core module: {0}; build it with bindings of wit/plugin/0.1.0")]
    Module(String),
    /// It is damaged.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// A section of ours is not what it should be.
    #[error("its section {section} is not what it should be: {problem}")]
    Section {
        /// Which.
        section: &'static str,
        /// What is wrong in it.
        problem: String,
    },
}

/// Largest component, in bytes.
pub(crate) const BYTES_MAX: usize = 32 << 20;

const MANIFEST: &str = "orrery:manifest";
const CASES: &str = "orrery:cases";

// === impl Code ===

impl Code {
    /// What `given` is: a component, or a core module that one can be made of.
    pub(crate) fn read(given: &[u8]) -> Result<Self, CodeError> {
        if given.len() > BYTES_MAX {
            return Err(CodeError::Large(given.len()));
        }
        let (manifest, cases) = sections(given)?;
        let given: Arc<[u8]> = given.into();
        let bytes = match given.get(..8) {
            Some([0, b'a', b's', b'm', 1, 0, 0, 0]) => core_module::component(&given)?.into(),
            Some(_) => given.clone(),
            None => return Err(CodeError::NotWasm),
        };
        Ok(Self { digest: digest(&given), given, bytes, manifest, cases })
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// `sha256:…` of `bytes`.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// What it says of itself, wherever in it that stands: a tool that makes a component of a module puts the module's sections
/// further in.
fn sections(wasm: &[u8]) -> Result<(Manifest, Vec<Case>), CodeError> {
    let (mut manifest, mut cases) = (None, None);
    if !wasm.starts_with(b"\0asm") {
        return Err(CodeError::NotWasm);
    }
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(|error| CodeError::Damaged(error.to_string()))?;
        if let Payload::CustomSection(section) = payload {
            match section.name() {
                MANIFEST if manifest.is_none() => manifest = Some(read(MANIFEST, section.data())?),
                CASES if cases.is_none() => cases = Some(read(CASES, section.data())?),
                _ => {}
            }
        }
    }
    Ok((manifest.unwrap_or_default(), cases.unwrap_or_default()))
}

fn read<T: serde::de::DeserializeOwned>(section: &'static str, data: &[u8]) -> Result<T, CodeError> {
    serde_json::from_slice(data).map_err(|error| CodeError::Section { section, problem: error.to_string() })
}
