"""The Python client as its users use it: a pod is made, watched, run a command in, forwarded to, read the log of, changed
and deleted. Arguments: kubeconfig and namespace. Ends with an error where something is not as on one cluster."""

import json
import sys

from kubernetes import client, config, watch
from kubernetes.stream import portforward, stream
from kubernetes.stream.ws_client import ERROR_CHANNEL

NAME = "python"
WAIT_SECONDS = 30


def pod() -> dict:
    containers = [{"name": "main", "image": "main"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME}, "spec": {"containers": containers}}


def until(api: client.CoreV1Api, namespace: str, version: str, wanted) -> str:
    """Watches from `version` until an event of the pod is `wanted`; gives that event's version."""
    seen = []
    events = watch.Watch().stream(
        api.list_namespaced_pod, namespace, resource_version=version, timeout_seconds=WAIT_SECONDS
    )
    for event in events:
        one = event["object"]
        if one.metadata.name != NAME:
            continue
        assert int(one.metadata.resource_version) > int(version), "versions rise"
        version = one.metadata.resource_version
        seen.append((event["type"], one.status.phase))
        if wanted(event["type"], one):
            return version
    raise AssertionError(f"not seen within {WAIT_SECONDS} s; seen were {seen}")


def run(api: client.CoreV1Api, namespace: str, command: list[str], given: str = "") -> tuple[str, dict]:
    """What `command` prints in the pod when it is `given` a text, and the Status that it ends with."""
    session = stream(
        api.connect_get_namespaced_pod_exec,
        NAME,
        namespace,
        command=command,
        stdin=True,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )
    if given:
        session.write_stdin(given)
    session.run_forever(timeout=WAIT_SECONDS)
    return session.read_channel(1), json.loads(session.read_channel(ERROR_CHANNEL))


def forward(api: client.CoreV1Api, namespace: str) -> bytes:
    """What comes back from the pod's port: it gives back what it gets."""
    forwarded = portforward(api.connect_get_namespaced_pod_portforward, NAME, namespace, ports="80").socket(80)
    forwarded.settimeout(WAIT_SECONDS)
    forwarded.sendall(b"per aspera")
    return forwarded.recv(64)


def main() -> None:
    config.load_kube_config(sys.argv[1])
    namespace = sys.argv[2]
    api = client.CoreV1Api()
    begin = api.list_namespaced_pod(namespace).metadata.resource_version
    made = api.create_namespaced_pod(namespace, pod())
    shown = until(api, namespace, begin, lambda kind, one: one.metadata.uid == made.metadata.uid)
    assert shown == made.metadata.resource_version, "a create answers with the version that watches show"
    version = until(api, namespace, shown, lambda kind, one: one.status.phase == "Running")

    printed, ended = run(api, namespace, ["head", "-n1"], "ad astra\n")
    assert printed == "ad astra\n" and ended["status"] == "Success", (printed, ended)
    # kwok's kubelet has no exit codes: it tells them in a message.
    _, ended = run(api, namespace, ["sh", "-c", "exit 3"])
    assert ended["status"] == "Failure" and "exit status 3" in ended["message"], ended
    assert forward(api, namespace) == b"per aspera"
    log = api.read_namespaced_pod_log(NAME, namespace)
    assert "and yet it moves" in log, log

    changed = api.patch_namespaced_pod(NAME, namespace, {"metadata": {"labels": {"changed": "yes"}}})
    until(api, namespace, version, lambda kind, one: (one.metadata.labels or {}).get("changed") == "yes")
    made.metadata.labels = {"stale": "yes"}
    try:
        api.replace_namespaced_pod(NAME, namespace, made)
    except client.ApiException as error:
        assert error.status == 409, error
    else:
        raise AssertionError("a stale object was taken")
    api.delete_namespaced_pod(NAME, namespace, grace_period_seconds=0)
    until(api, namespace, changed.metadata.resource_version, lambda kind, one: kind == "DELETED")
    try:
        api.read_namespaced_pod(NAME, namespace)
    except client.ApiException as error:
        assert error.status == 404, error
    else:
        raise AssertionError("it is still there")


main()
