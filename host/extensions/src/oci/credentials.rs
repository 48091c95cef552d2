//! Credentials for registries, as other clients keep them: `auths` of `$DOCKER_CONFIG/config.json`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_client::secrets::RegistryAuth;
use serde_json::Value;

/// Those for `registry`; anonymous where there are none.
pub(super) fn of(registry: &str) -> RegistryAuth {
    let file = folder().and_then(|folder| fs::read_to_string(folder.join("config.json")).ok());
    file.and_then(|text| in_file(&text, registry)).unwrap_or(RegistryAuth::Anonymous)
}

fn folder() -> Option<PathBuf> {
    let home = || Some(Path::new(&env::var_os("HOME")?).join(".docker"));
    env::var_os("DOCKER_CONFIG").map(PathBuf::from).or_else(home)
}

fn in_file(text: &str, registry: &str) -> Option<RegistryAuth> {
    let file: Value = serde_json::from_str(text).ok()?;
    let encoded = file["auths"][registry]["auth"].as_str()?;
    let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some(RegistryAuth::Basic(user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_those_of_the_registry_and_else_there_are_none() {
        let file = r#"{"auths": {"a.example.com": {"auth": "YW5uOnM6Yw=="}, "b.example.com": {"auth": "%"}, "c.example.com": {}}}"#;
        assert_eq!(in_file(file, "a.example.com"), Some(RegistryAuth::Basic("ann".to_owned(), "s:c".to_owned())));
        for none in ["b.example.com", "c.example.com", "d.example.com"] {
            assert_eq!(in_file(file, none), None);
        }
        assert_eq!(in_file("[", "a.example.com"), None);
    }
}
