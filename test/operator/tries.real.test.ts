import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject, Resource } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { HostileWebhook } from "./sequences/hostile-webhook.ts";
import { CONFIGS, InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const SPEC = { linuxBridge: {}, kubeMacPool: {} };
const VICTIMS: readonly (readonly [Resource, string])[] = [
  [RESOURCES.clusterRoles, "bridge-marker-cr"],
  [RESOURCES.configMaps, "kubemacpool-mac-range-config"],
  [RESOURCES.daemonSets, "bridge-marker"],
  [RESOURCES.deployments, "linux-bridge-webhook"],
  [RESOURCES.services, "kubemacpool-service"],
];
const NAMES = JSON.stringify(VICTIMS.map(([, name]) => name));
const CREATED = `request.operation == 'CREATE' && request.name in ${NAMES}`;
const ADDRESSES = ["clusterIP", "clusterIPs"];

/** One story: the tests follow each other on one cluster. */
describe("the operator asks the API server what an object would be like", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.addNode("node-a");
    await cluster.addNode("node-b");
    cluster.start();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  async function victims(): Promise<unknown[]> {
    const live = VICTIMS.map(([resource, name]) =>
      cluster.find(resource, resource.namespaced ? { name, namespace: NAMESPACE } : { name }),
    );
    return (await Promise.all(live)).map(meaning);
  }

  it("only where that has more than was asked for, which a workload always has", async () => {
    const { client } = cluster;
    await cluster.applyConfig(SPEC);
    await cluster.rollOutUntilAvailable();
    const workloads = client.writes.flatMap((write) => /^apply ((?:Deployment|DaemonSet) .*)/.exec(write)?.[1] ?? []);
    expect(workloads.length).toBeGreaterThan(4);
    expect(client.tries.toSorted()).toEqual(workloads.toSorted());
    await cluster.stop();
    client.tries.length = 0;
    cluster.start();
    await cluster.until(async () => client.tries.length >= workloads.length);
    expect(client.tries.toSorted()).toEqual(workloads.toSorted());
  });

  it("also of what it has just created, where a webhook of others may have its say", async () => {
    const before = await victims();
    await cluster.admin.delete(CONFIGS, { name: "cluster" });
    await cluster.until(async () => (await cluster.config()) === undefined);
    await using _ = await HostileWebhook.install(cluster, "changes", { concerns: CREATED });
    await cluster.applyConfig(SPEC);
    await cluster.rollOutUntilAvailable();
    expect(await victims()).toEqual(before);
  });
});

function meaning({ metadata: _, status: __, spec, ...rest }: KubeObject = { metadata: {} }): object {
  const own = Object.entries(spec ?? {}).filter(([key]) => !ADDRESSES.includes(key));
  return { ...rest, spec: Object.fromEntries(own) };
}
