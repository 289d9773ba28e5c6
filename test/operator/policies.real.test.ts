import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { OPERATOR_NAME } from "../../src/api/names.ts";
import { InstalledOperator, NAMESPACE, WITHIN } from "./support/installed-operator.ts";

const POOL = `system:serviceaccount:${NAMESPACE}:kubemacpool-sa`;
const INSTALLER = `system:serviceaccount:${NAMESPACE}:linux-bridge`;
const OPERATOR = `system:serviceaccount:${NAMESPACE}:${OPERATOR_NAME}`;
const CLAIMS = "/apis/macpool.network.kubevirt.io/v1alpha1/macclaims";
const BREAK_GLASS = { "macpool.network.kubevirt.io/break-glass": "true" };

describe("what admission guards once the components are deployed", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.addNode("node-a");
    await cluster.addNode("node-b");
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} });
    await cluster.rollOutUntilAvailable();
    // A policy is enforced a moment after it was written; what was changed before can't be asked for as a change again.
    await vi.waitUntil(async () => (await createClaim("system:admin", 9)).status === 403, WITHIN);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  function request(user: string, method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    const group = user === "system:admin" ? { "impersonate-group": "system:masters" } : {};
    return cluster.admin.raw(method, path, {
      headers: { "impersonate-user": user, ...group, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  }

  function createClaim(user: string, number: number, annotations = {}) {
    const name = `mac-02-00-00-00-00-0${number}`;
    return request(user, "POST", CLAIMS, {
      apiVersion: "macpool.network.kubevirt.io/v1alpha1",
      kind: "MACClaim",
      metadata: { name, annotations },
      spec: { mac: `02:00:00:00:00:0${number}`, origin: "explicit" },
    });
  }

  /** `node`: the one that the user's token names. */
  function createEvent(user: string, namespace: string, kind: string, name = "any", node?: string) {
    const headers = node === undefined ? {} : { "impersonate-extra-authentication.kubernetes.io%2fnode-name": node };
    const event = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { generateName: "test-", namespace },
      eventTime: new Date().toISOString().replace("Z", "000Z"),
      reportingController: "test",
      reportingInstance: "test",
      action: "Test",
      reason: "Test",
      type: "Normal",
      regarding: { kind, name, ...(namespace === "default" ? {} : { namespace }) },
    };
    return request(user, "POST", `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, event, headers);
  }

  it("lets the operator not use what it only hands on", async () => {
    const headers = { "content-type": "application/merge-patch+json" };
    const status = { status: { capacity: { "bridge.network.kubevirt.io/br9": "1k" } } };
    const onNode = await request(OPERATOR, "PATCH", "/api/v1/nodes/node-a/status", status, headers);
    const elsewhere = await createEvent(OPERATOR, NAMESPACE, "Pod");
    for (const refused of [onNode, await createClaim(OPERATOR, 7, BREAK_GLASS), elsewhere]) {
      expect(refused.status).toBe(403);
      expect(JSON.stringify(refused.body)).toContain("only to hand it on to its components");
    }
    expect((await createEvent(OPERATOR, "default", "NetworkAddonsConfig")).status).toBe(201);
  });

  it("lets the installer write events about the configuration and its own node only", async () => {
    expect((await createEvent(INSTALLER, "default", "NetworkAddonsConfig")).status).toBe(201);
    expect((await createEvent(INSTALLER, "default", "Node", "node-a", "node-a")).status).toBe(201);
    const refused: readonly [string, string, string, string | undefined][] = [
      ["default", "Node", "node-b", "node-a"],
      ["default", "Node", "node-a", undefined],
      ["default", "Pod", "node-a", "node-a"],
      [NAMESPACE, "NetworkAddonsConfig", "any", undefined],
    ];
    for (const about of refused) expect((await createEvent(INSTALLER, ...about)).status).toBe(403);
  });

  it("lets only the pool write claims", async () => {
    const refused = await createClaim("system:admin", 1);
    expect(refused.status).toBe(403);
    expect(JSON.stringify(refused.body)).toContain("Only the MAC pool may change MACClaims");
    expect((await createClaim(POOL, 1)).status).toBe(201);
    const claim = `${CLAIMS}/mac-02-00-00-00-00-01`;
    expect((await request("system:admin", "DELETE", claim)).status).toBe(403);
    expect((await request(POOL, "DELETE", claim)).status).toBe(200);
  });

  it("lets an administrator break the glass", async () => {
    expect((await createClaim("system:admin", 2, BREAK_GLASS)).status).toBe(201);
    expect((await createClaim(POOL, 3)).status).toBe(201);
    const claim = `${CLAIMS}/mac-02-00-00-00-00-03`;
    const patch = { metadata: { annotations: BREAK_GLASS } };
    const headers = { "content-type": "application/merge-patch+json" };
    expect((await request("system:admin", "PATCH", claim, patch, headers)).status).toBe(200);
    expect((await request("system:admin", "DELETE", claim)).status).toBe(200);
  });
});
