// The JavaScript client as its users use it: a pod is made, watched, run a command in, read the log of, changed and
// deleted. Arguments: kubeconfig and namespace. Ends with an error where something is not as on one cluster.

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import {
  CoreV1Api, Exec, KubeConfig, Log, PatchStrategy, Watch, setHeaderOptions,
} from "@kubernetes/client-node";

const name = "javascript";
const WAIT_MS = 30_000;

const config = new KubeConfig();
config.loadFromFile(process.argv[2]);
const namespace = process.argv[3];
const api = config.makeApiClient(CoreV1Api);
const asMergePatch = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);

// What `promise` gives, or an error that names `what` was waited for.
function within(what, promise) {
  const { promise: late, reject } = deferred();
  const timer = setTimeout(() => reject(new Error(`${what}: nothing for ${WAIT_MS} ms`)), WAIT_MS);
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// A promise, and what settles it. (Promise.withResolvers is newer than the node that is asked for.)
function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

// Watches from `version` until an event of the pod is `wanted`; gives its object.
async function until(what, version, wanted) {
  const { promise, resolve, reject } = deferred();
  const onEvent = (kind, one) => one.metadata.name === name && wanted(kind, one) && resolve(one);
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const onEnd = (error) => reject(error ?? new Error(`${what}: the watch ended`));
  const watch = await new Watch(config).watch(path, { resourceVersion: version }, onEvent, onEnd);
  return within(what, promise).finally(() => watch.abort());
}

// What `command` prints in the pod when it is given `input`, and the status of its end.
async function run(command, input) {
  const [stdout, stdin] = [new PassThrough(), new PassThrough()];
  const { promise: status, resolve } = deferred();
  const printed = text(stdout);
  await new Exec(config).exec(namespace, name, "main", command, stdout, null, stdin, false, resolve);
  stdin.write(input);
  const ended = await within(command[0], status);
  stdout.end();
  return [await printed, ended];
}

const begin = (await api.listNamespacedPod({ namespace })).metadata.resourceVersion;
const containers = [{ name: "main", image: "main" }];
const made = await api.createNamespacedPod({ namespace, body: { metadata: { name }, spec: { containers } } });
const shown = await until("it is shown", begin, (kind) => kind === "ADDED");
assert.equal(shown.metadata.resourceVersion, made.metadata.resourceVersion);
const running = await until("it runs", begin, (_, one) => one.status.phase === "Running");

const [echoed, ended] = await run(["head", "-n1"], "ad astra\n");
assert.equal(echoed, "ad astra\n");
assert.equal(ended.status, "Success");
const [, failed] = await run(["sh", "-c", "exit 3"], "");
// kwok's kubelet has no exit codes: it tells them in a message.
assert.match(failed.message, /exit status 3/);
const log = new PassThrough();
const printed = text(log);
await new Log(config).log(namespace, name, "main", log, { follow: false });
assert.match(await within("the log", printed), /and yet it moves/);

const labels = { changed: "yes" };
await api.patchNamespacedPod({ name, namespace, body: { metadata: { labels } } }, asMergePatch);
const { resourceVersion } = running.metadata;
await until("it is changed", resourceVersion, (_, one) => one.metadata.labels?.changed === "yes");
const stale = { name, namespace, body: { ...made, metadata: { ...made.metadata, labels: { stale: "yes" } } } };
await assert.rejects(api.replaceNamespacedPod(stale), (error) => error.code === 409);
await api.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 });
await until("it is deleted", resourceVersion, (kind) => kind === "DELETED");
await assert.rejects(api.readNamespacedPod({ name, namespace }), (error) => error.code === 404);
process.exit(0);
