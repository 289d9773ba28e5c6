import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NODE_MACS_CRD } from "../../../src/api/crds.ts";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { Establishing, isEstablished } from "../../../src/operator/apply/established.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane/control-plane.ts";
import { eventually } from "../../support/eventually.ts";

const NAME = NODE_MACS_CRD.metadata.name;
const KEY = `/registry/apiextensions.k8s.io/customresourcedefinitions/${NAME}`;

/** Replaces what etcd has stored, as an API server would have that ended between two writes. */
async function rewrite(etcdUrl: string, change: (stored: CustomResourceDefinition) => object): Promise<void> {
  const ask = async (path: string, body: object): Promise<{ kvs?: { value: string }[] }> => {
    const answer = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as { kvs?: { value: string }[] };
  };
  const key = Buffer.from(KEY).toString("base64");
  const { kvs = [] } = await ask("range", { key });
  const stored = JSON.parse(Buffer.from(kvs[0]?.value ?? "", "base64").toString()) as CustomResourceDefinition;
  await ask("put", { key, value: Buffer.from(JSON.stringify(change(stored))).toString("base64") });
}

describe("a definition whose API server ended before it established the kind", () => {
  let controlPlane: ControlPlane;
  let client: KubeClient;

  beforeAll(async () => {
    controlPlane = await startControlPlane();
    client = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
  });
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  const read = () => client.get(RESOURCES.crds, { name: NAME });

  it("is established all the same, and is left as it was", async () => {
    await client.create(RESOURCES.crds, NODE_MACS_CRD as never);
    await eventually("it is established", async () => isEstablished(await read()));
    await controlPlane.killApiServer();
    await rewrite(controlPlane.etcdUrl, ({ status, ...rest }) => {
      const conditions = status?.conditions?.filter(({ type }) => type !== "Established");
      return { ...rest, status: { ...status, conditions } };
    });
    await controlPlane.restartApiServer();
    const before = await read();
    expect(isEstablished(before)).toBe(false);
    const establishing = new Establishing({ client, clock: systemClock });
    const signal = AbortSignal.timeout(60_000);
    expect(await establishing.isServed(NAME, before, signal)).toBe(false);
    await eventually("it is served", async () => establishing.isServed(NAME, await read(), signal));
    const { metadata } = await read();
    expect(metadata.annotations).toEqual(before.metadata.annotations);
  });
});
