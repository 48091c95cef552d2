//! The plugins of this repository, built from their crates under `plugins/` into the components that are committed beside
//! them.
//!
//! A guest is a workspace of its own for `wasm32-unknown-unknown`. The same toolchain gives the same bytes wherever the clone
//! lies, which is what lets a test hold the committed file to its sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use wit_component::ComponentEncoder;

use super::{progress, run, wasm};
use crate::places::{cache, repository};

/// A guest of this repository.
#[derive(Clone, Copy, Debug)]
pub struct Guest {
    /// Its folder under `plugins/`, and the name of its file there.
    pub name: &'static str,
    /// The library of its crate, which cargo builds.
    library: &'static str,
}

/// All guests that are committed.
pub const GUESTS: [Guest; 2] =
    [Guest { name: "cel", library: "orrery_cel" }, Guest { name: "example-scorer", library: "orrery_example_scorer" }];

// === impl Guest ===

impl Guest {
    /// The committed component.
    pub fn file(&self) -> PathBuf {
        self.folder().join(format!("{}.wasm", self.name))
    }

    fn folder(&self) -> PathBuf {
        repository().join("plugins").join(self.name)
    }

    /// Builds the component from its sources: its bytes, with the manifest and the golden cases within, if it has them.
    pub fn build(&self) -> Result<Vec<u8>> {
        let module = progress(&format!("building the guest {}", self.name), || self.module())?;
        let mut encoder = ComponentEncoder::default().module(&module).context("the module is none of a component")?;
        let mut component = encoder.encode().with_context(|| format!("the guest {} is no component", self.name))?;
        if let Some(manifest) = self.manifest()? {
            append_section(&mut component, "orrery:manifest", &serde_json::to_vec(&manifest)?);
        }
        let cases = self.cases()?;
        if !cases.is_empty() {
            append_section(&mut component, "orrery:cases", &serde_json::to_vec(&cases)?);
        }
        Ok(component)
    }

    /// The core module, as cargo and the linker leave it.
    fn module(&self) -> Result<Vec<u8>> {
        let target = cache("guests")?;
        let mut cargo = Command::new("cargo");
        cargo.current_dir(self.folder()).env("CARGO_TARGET_DIR", &target);
        cargo.args(["build", "--quiet", "--locked", "--lib", "--release", "--target", wasm::TARGET]);
        // Paths of this machine would be in the messages of panics, and with them in the bytes.
        cargo.env("RUSTFLAGS", flags(&self.folder())?);
        for (name, value) in wasm::standard_library()?.environment() {
            cargo.env(name, value);
        }
        cargo.args(wasm::standard_library()?.arguments());
        run(&mut cargo)?;
        let module = target.join(wasm::TARGET).join("release").join(format!("{}.wasm", self.library));
        fs::read(&module).with_context(|| format!("cargo left no {}", module.display()))
    }

    fn manifest(&self) -> Result<Option<Value>> {
        let file = self.folder().join("plugin.yaml");
        if file.exists() { yaml(&file).map(Some) } else { Ok(None) }
    }

    /// The golden cases, in the order of their files' names.
    fn cases(&self) -> Result<Vec<Value>> {
        let Ok(entries) = fs::read_dir(self.folder().join("cases")) else { return Ok(Vec::new()) };
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        files.retain(|file| file.extension().is_some_and(|ending| ending == "yaml"));
        files.sort();
        files.iter().map(|file| yaml(file)).collect()
    }
}

fn yaml(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("{} is no YAML", file.display()))
}

/// Flags that keep this machine's folders out of what is built, and give the guest a stack of 2 MiB: a fair expression is
/// deeper than Rust's default allows.
fn flags(folder: &Path) -> Result<String> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))?;
    let sysroot = run(Command::new("rustc").args(["--print", "sysroot"]).current_dir(folder))?;
    let folders = [(folder.display().to_string(), "guest"), (home, "cargo"), (sysroot.trim().to_owned(), "rust")];
    let remapped = folders.map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    Ok(format!("{} -Clink-arg=-zstack-size=2097152", remapped.join(" ")))
}

/// Appends a custom section: `0`, its size, the size of its name, the name, the content.
fn append_section(component: &mut Vec<u8>, name: &str, content: &[u8]) {
    let mut body = Vec::new();
    append_number(&mut body, name.len());
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(content);
    component.push(0);
    append_number(component, body.len());
    component.extend(body);
}

/// LEB128, as the binary format of WebAssembly has it.
fn append_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Builds all guests and writes their files; says of each how large it is.
pub(crate) fn write_all() -> Result<Vec<String>> {
    let write = |guest: &Guest| {
        let component = guest.build()?;
        fs::write(guest.file(), &component)?;
        Ok(format!("plugins/{0}/{0}.wasm: {1} bytes", guest.name, component.len()))
    };
    GUESTS.iter().map(write).collect()
}

/// An error if the committed file is not what the sources give.
pub(crate) fn compare(guest: &Guest) -> Result<()> {
    let committed = fs::read(guest.file()).with_context(|| format!("failed to read {}", guest.file().display()))?;
    let built = guest.build()?;
    let differs = committed.iter().zip(&built).position(|(a, b)| a != b).unwrap_or(committed.len().min(built.len()));
    ensure!(
        committed == built,
        "plugins/{0}/{0}.wasm has {1} bytes, its sources give {2}; they differ from byte {differs} on. `./dev guests` writes it anew",
        guest.name,
        committed.len(),
        built.len(),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_sizes_before_its_name_and_content() {
        let mut component = vec![9];
        append_section(&mut component, "ab", &[7; 200]);
        let head = [9, 0, 0xcb, 0x01, 2, b'a', b'b', 7];
        assert_eq!(component[..head.len()], head);
        assert_eq!(component.len(), 7 + 200);
    }
}
