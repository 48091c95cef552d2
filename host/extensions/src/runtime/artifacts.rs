use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::{hmac, rand};
use tracing::warn;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::code::digest;

/// Compiled components on disk, so that a restart does not compile anew. What is read back was written by this host: each
/// file carries a MAC, because machine code that somebody else wrote there would run as the host.
#[derive(Debug)]
pub(crate) struct Artifacts {
    folder: PathBuf,
    key: hmac::Key,
}

const MAC_BYTES: usize = 32;

/// Most that the folder may hold, in bytes; the files that were used last stay.
const BYTES_MAX: u64 = 512 << 20;

// === impl Artifacts ===

impl Artifacts {
    /// Those of `folder`, which is made with a key of its own if it is not there.
    ///
    /// # Errors
    /// It cannot be made, read or written.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let secret = key(&folder.join("key"))?;
        Ok(Self { folder: folder.to_owned(), key: hmac::Key::new(hmac::HMAC_SHA256, &secret) })
    }

    /// The component that was compiled of `bytes` on such a machine by such a host, if it was kept and nobody changed it.
    pub(crate) fn load(&self, engine: &Engine, bytes: &[u8]) -> Option<Component> {
        let path = self.path(engine, bytes);
        let file = fs::read(&path).ok()?;
        let (mac, artifact) = file.split_at_checked(MAC_BYTES)?;
        if hmac::verify(&self.key, artifact, mac).is_err() {
            warn!(file = %path.display(), "a compiled component was changed by somebody else: it is compiled anew");
            return None;
        }
        // Says that it was used.
        let _ = OpenOptions::new().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        // SAFETY: the MAC shows that the bytes are what `Component::serialize` gave this host; wasmtime itself refuses those
        // of another version or configuration.
        #[expect(unsafe_code, reason = "to load machine code is unsafe whoever made it")]
        let component = unsafe { Component::deserialize(engine, artifact) };
        component.inspect_err(|error| warn!(error = format!("{error:#}"), "a compiled component cannot be used")).ok()
    }

    /// Keeps `component`, which was compiled of `bytes`. That it cannot be kept only costs time later.
    pub(crate) fn store(&self, engine: &Engine, bytes: &[u8], component: &Component) {
        let keep = || -> io::Result<()> {
            let artifact = component.serialize().map_err(io::Error::other)?;
            let mac = hmac::sign(&self.key, &artifact);
            let path = self.path(engine, bytes);
            let unfinished = path.with_extension(std::process::id().to_string());
            let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&unfinished)?;
            file.write_all(mac.as_ref())?;
            file.write_all(&artifact)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            self.trim()
        };
        if let Err(error) = keep() {
            warn!(%error, folder = %self.folder.display(), "a compiled component cannot be kept; it is compiled anew next time");
        }
    }

    /// The name says of what, and by which compiler, settings and processor it was made.
    fn path(&self, engine: &Engine, bytes: &[u8]) -> PathBuf {
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut hasher);
        let made_by = std::hash::Hasher::finish(&hasher);
        let of = digest(bytes).replace("sha256:", "");
        self.folder.join(format!("{of}-{made_by:016x}.cwasm"))
    }

    fn trim(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "cwasm") {
                let metadata = fs::metadata(&path)?;
                files.push((metadata.modified()?, metadata.len(), path));
            }
        }
        files.sort_by(|a, b| b.cmp(a));
        let mut bytes = 0;
        for (_, len, path) in files {
            bytes += len;
            if bytes > BYTES_MAX {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// The key in the file at `path`. Of several hosts that find none at one time each makes one, and one of these stays.
fn key(path: &Path) -> io::Result<Vec<u8>> {
    if let Ok(secret) = fs::read(path)
        && secret.len() == MAC_BYTES
    {
        return Ok(secret);
    }
    let secret: [u8; MAC_BYTES] =
        rand::generate(&SystemRandom::new()).map_err(|_| io::Error::other("no random bytes to be had"))?.expose();
    let own = path.with_extension(std::process::id().to_string());
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&own)?;
    file.write_all(&secret)?;
    fs::rename(own, path)?;
    fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        Engine::default()
    }

    fn bytes() -> Vec<u8> {
        wat::parse_str("(component)").unwrap()
    }

    /// The one artifact in `folder`.
    fn file(folder: &Path) -> PathBuf {
        let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.extension().is_some_and(|ending| ending == "cwasm")).unwrap()
    }

    #[test]
    fn what_was_compiled_is_found_again_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let (engine, bytes) = (engine(), bytes());
        assert!(Artifacts::open(folder.path()).unwrap().load(&engine, &bytes).is_none());
        let component = Component::new(&engine, &bytes).unwrap();
        Artifacts::open(folder.path()).unwrap().store(&engine, &bytes, &component);
        assert!(Artifacts::open(folder.path()).unwrap().load(&engine, &bytes).is_some());
        let mut other = wasmtime::Config::new();
        let other = Engine::new(other.consume_fuel(true)).unwrap();
        assert!(Artifacts::open(folder.path()).unwrap().load(&other, &bytes).is_none(), "other settings");
    }

    #[test]
    fn what_somebody_changed_at_any_place_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (engine, bytes) = (engine(), bytes());
        let artifacts = Artifacts::open(folder.path()).unwrap();
        artifacts.store(&engine, &bytes, &Component::new(&engine, &bytes).unwrap());
        let path = file(folder.path());
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 50) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, changed).unwrap();
            assert!(artifacts.load(&engine, &bytes).is_none(), "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert!(artifacts.load(&engine, &bytes).is_none(), "cut at {at}");
        }
        fs::write(&path, &whole).unwrap();
        assert!(artifacts.load(&engine, &bytes).is_some());
        fs::remove_file(folder.path().join("key")).unwrap();
        assert!(Artifacts::open(folder.path()).unwrap().load(&engine, &bytes).is_none(), "another key");
    }
}
