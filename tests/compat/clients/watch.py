"""The Python client as judge: one LIST, then watches, as its users write them. Answers each line of standard input with
what it holds, as JSON: the value of each ConfigMap in namespace `default`, by name."""

import json
import sys
import threading
import time

import urllib3
from kubernetes import client, config, watch

held: dict[str, str] = {}
synced = threading.Event()


def value_of(config_map) -> str:
    return (config_map.data or {}).get("value", "")


def follow(api: client.CoreV1Api) -> None:
    version = None
    while True:
        try:
            if version is None:
                found = api.list_namespaced_config_map("default")
                held.clear()
                held.update({one.metadata.name: value_of(one) for one in found.items})
                version = found.metadata.resource_version
                synced.set()
            events = watch.Watch().stream(api.list_namespaced_config_map, "default", resource_version=version)
            for event in events:
                one = event["object"]
                version = one.metadata.resource_version
                if event["type"] == "DELETED":
                    held.pop(one.metadata.name, None)
                else:
                    held[one.metadata.name] = value_of(one)
        except client.ApiException as error:
            if error.status == 410:
                version = None
        except urllib3.exceptions.HTTPError:
            pass
        time.sleep(0.1)


def main() -> None:
    config.load_kube_config(sys.argv[1])
    threading.Thread(target=follow, args=[client.CoreV1Api()], daemon=True).start()
    synced.wait()
    for _ in sys.stdin:
        print(json.dumps(dict(held)), flush=True)


main()
