import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { bindClusterRole, user } from "../support/rights.ts";
import { machine } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const DENIED = "02:00:00:00:00:01";
const WARNED = "02:00:00:00:00:02";
const ALL = ["create", "get", "list"];

describe("a refusal and a warning, on a real API server", () => {
  let fixture: PoolFixture;
  const clients: KubeClient[] = [];

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    for (const name of ["mine", "theirs", "warned", "warned-too"]) {
      await fixture.admin.create(RESOURCES.namespaces, {
        metadata: { name, labels: { policy: name.split("-")[0] ?? "" } },
      });
    }
    const range = (digit: number) => ({ start: `02:5d:1c:0${digit}:00:00`, end: `02:5d:1c:0${digit}:00:ff` });
    await fixture.createPool("default", { ranges: [range(0)] });
    const namespaceSelector = { matchLabels: { policy: "warned" } };
    await fixture.createPool("warn", { ranges: [range(1)], namespaceSelector, conflictPolicy: "Warn" });
    await fixture.registerWebhooks();
    await fixture.admin.create(RESOURCES.clusterRoles, {
      metadata: { name: "machines" },
      rules: [{ apiGroups: ["kubevirt.io"], resources: ["virtualmachines"], verbs: ALL }],
    });
    for (const [name, namespace] of [
      ["tenant", "mine"],
      ["tenant", "warned"],
      ["neighbour", "mine"],
      ["neighbour", "theirs"],
      ["neighbour", "warned"],
      ["neighbour", "warned-too"],
    ] as const) {
      await bindClusterRole(fixture.admin, "machines", user(name), { namespace });
    }
    const create = (namespace: string, macAddress: string) =>
      fixture.admin.create(KINDS.virtualMachines, machine("secret", namespace, [{ name: "a", macAddress }]));
    await create("theirs", DENIED);
    await create("warned-too", WARNED);
    await create("mine", "02:00:00:00:00:03");
  });
  afterAll(async () => {
    for (const client of clients) await client[Symbol.asyncDispose]();
    await fixture?.[Symbol.asyncDispose]();
  });

  /** What the user is told who asks for an address that somebody has. */
  async function told(user: string, namespace: string, macAddress: string): Promise<string> {
    const kubeconfig = await fixture.controlPlane.userKubeconfig(user, ["system:authenticated"]);
    const client = new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
    clients.push(client);
    const path = `/apis/kubevirt.io/v1/namespaces/${namespace}/virtualmachines?dryRun=All`;
    const body = machine(`of-${user}`, namespace, [{ name: "a", macAddress }]);
    const answer = await client.raw("POST", path, { body });
    return [answer.headers.warning ?? [], (answer.body as { message?: string }).message ?? ""].flat().join(" ");
  }

  it("name no object of another namespace to a user who may not get it", async () => {
    const refusal = await told("tenant", "mine", DENIED);
    expect(refusal).toContain(`MAC ${DENIED} of interface "a" is in use by an object in another namespace`);
    expect(refusal).not.toContain("secret");
    const warning = await told("tenant", "warned", WARNED);
    expect(warning).toContain("is also in use by an object in another namespace");
    expect(warning).not.toContain("secret");
  });

  it("name it to a user who may", async () => {
    expect(await told("neighbour", "mine", DENIED)).toContain("is in use by VirtualMachine theirs/secret (a)");
    expect(await told("neighbour", "warned", WARNED)).toContain(
      "is also in use by VirtualMachine warned-too/secret (a)",
    );
  });

  it("name an object of the same namespace to everybody", async () => {
    const refusal = await told("tenant", "mine", "02:00:00:00:00:03");
    expect(refusal).toContain("is in use by VirtualMachine mine/secret (a)");
  });
});
