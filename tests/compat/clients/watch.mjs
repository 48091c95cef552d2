// The JavaScript client's informer as judge. Answers each line of standard input with what it holds, as JSON: the value
// of each ConfigMap in namespace `default`, by name.

import { createInterface } from "node:readline";
import { CoreV1Api, KubeConfig, makeInformer } from "@kubernetes/client-node";

const config = new KubeConfig();
config.loadFromFile(process.argv[2]);
const api = config.makeApiClient(CoreV1Api);
const list = () => api.listNamespacedConfigMap({ namespace: "default" });
const informer = makeInformer(config, "/api/v1/namespaces/default/configmaps", list);
// The informer stops at an error; its users start it again.
informer.on("error", () => setTimeout(() => informer.start(), 100));
await informer.start();
for await (const _ of createInterface({ input: process.stdin })) {
  const held = informer.list().map((one) => [one.metadata.name, one.data?.value ?? ""]);
  console.log(JSON.stringify(Object.fromEntries(held)));
}
process.exit(0);
