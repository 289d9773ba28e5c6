/**
 * Child process of the MAC pool's benchmark: what a pool costs that is one process and keeps its addresses in memory. Like
 * KubeMacPool, it reads namespace and webhook configuration live for each VM, and learns from a watch which VMs are gone; it
 * proves nothing before it answers.
 */

import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { formatMac, type Mac, parseMac } from "../../src/api/mac.ts";
import { MAC_POOL_WEBHOOK_CONFIGURATION } from "../../src/api/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { macsOf } from "../mac-pool/machines.ts";

export interface InMemoryOrder {
  /** Of an administrator. */
  readonly kubeconfig: string;
  /** Of the server. */
  readonly cert: string;
  readonly key: string;
}

/** The answer to the order, once the pool is ready. */
export interface InMemoryReady {
  readonly port: number;
}

const FIRST = parseMac("025d1c000000") ?? (0 as Mac);
const INTERFACES = "/spec/template/spec/domain/devices/interfaces";

interface Review {
  readonly request: { readonly uid: string; readonly namespace: string; readonly object: KubeObject };
}

/** Addresses that VMs have. */
const taken = new Set<string>();
let next: number = FIRST;

process.on("message", async ({ kubeconfig, ...pair }: InMemoryOrder) => {
  const client = new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
  const { items, resourceVersion } = await client.list(KINDS.virtualMachines);
  for (const vm of items) hold(vm);
  void follow(client, resourceVersion);
  const server = createServer(pair, async (request, response) => {
    const text = (await request.toArray()).join("");
    const body = JSON.stringify(await answer(client, JSON.parse(text) as Review));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  });
  server.listen(0, "127.0.0.1", () => {
    process.send?.({ port: (server.address() as AddressInfo).port } satisfies InMemoryReady);
  });
});
process.on("disconnect", () => process.exit(0));

async function answer(client: KubeClient, { request: { uid, namespace, object } }: Review): Promise<object> {
  await client.get(RESOURCES.namespaces, { name: namespace });
  await client.get(RESOURCES.mutatingWebhookConfigurations, { name: MAC_POOL_WEBHOOK_CONFIGURATION });
  const patch = macsOf(object).flatMap((mac, index) =>
    mac === undefined ? [{ op: "add", path: `${INTERFACES}/${index}/macAddress`, value: draw() }] : [],
  );
  const response = { uid, allowed: true, patchType: "JSONPatch", patch: btoa(JSON.stringify(patch)) };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}

function draw(): string {
  while (taken.has(formatMac(next as Mac))) next += 1;
  const mac = formatMac(next as Mac);
  taken.add(mac);
  return mac;
}

async function follow(client: KubeClient, resourceVersion: string): Promise<void> {
  const { signal } = new AbortController();
  for await (const { type, object } of client.watch(KINDS.virtualMachines, { resourceVersion, signal })) {
    if (type === "ADDED" || type === "MODIFIED") hold(object);
    if (type === "DELETED") for (const mac of macsOf(object)) taken.delete(mac ?? "");
  }
  throw new Error("the watch of VMs has ended");
}

function hold(vm: KubeObject): void {
  for (const mac of macsOf(vm)) if (mac !== undefined) taken.add(mac);
}
