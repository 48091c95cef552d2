use serde_json::json;

use super::*;

fn artifact(layer: &[u8], types: &[&str]) -> (String, Artifact) {
    let layers: Vec<_> = types
        .iter()
        .map(|media_type| json!({"mediaType": media_type, "digest": digest_of(layer), "size": layer.len()}))
        .collect();
    let config = json!({"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest_of(b"{}"), "size": 2});
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers}).to_string().into_bytes();
    (digest_of(&manifest), Artifact { manifest, layer: layer.to_vec() })
}

#[test]
fn the_component_is_the_one_layer_of_its_type() {
    for (types, wanted) in [
        (&["application/wasm"][..], Ok(())),
        (&["text/plain", WASM_LAYER_MEDIA_TYPE][..], Ok(())),
        (&["text/plain"][..], Err("it has no layer of type application/wasm")),
        (&[][..], Err("it has no layer of type application/wasm")),
        (&["application/wasm", "application/wasm"][..], Err("it has several layers")),
    ] {
        let (digest, artifact) = artifact(b"x", types);
        match (artifact.checked(&digest), wanted) {
            (Ok(_), Ok(())) => {}
            (Err(error), Err(wanted)) => assert!(error.starts_with(wanted), "{error}"),
            (found, _) => panic!("{types:?}: {:?}", found.err()),
        }
    }
}

#[tokio::test]
async fn what_was_kept_and_changed_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = Artifacts::in_folder(Some(folder.path().to_owned()));
    let (digest, artifact) = artifact(b"a component", &["application/wasm"]);
    artifacts.keep(&digest, &artifact);
    // Nobody listens on that port, so it can only be the kept one.
    let reference = "127.0.0.1:1/a/b";
    assert_eq!(artifacts.fetch(reference, &digest).await, Ok(b"a component".to_vec()));
    fs::write(artifacts.path(&digest).unwrap().with_extension("wasm"), "another").unwrap();
    assert!(artifacts.fetch(reference, &digest).await.unwrap_err().starts_with(reference));
}

#[test]
fn only_a_registry_on_the_loopback_is_asked_without_tls() {
    for (registry, is_plain) in [
        ("localhost:5000", true),
        ("127.0.0.1:5000", true),
        ("[::1]:5000", true),
        ("localhost.example.com", false),
        ("10.0.0.1:5000", false),
    ] {
        let plain = matches!(settings(registry).protocol, ClientProtocol::HttpsExcept(_));
        assert_eq!(plain, is_plain, "{registry}");
    }
}
