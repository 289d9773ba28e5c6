import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import * as rights from "../support/rights.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";
import { getFrom, restGet } from "./rest-client.ts";

const TOKEN_SECONDS = 3600;
const [ONE, TWO, THREE, FOUR] = ["02:00:00:00:00:11", "02:00:00:00:00:12", "02:00:00:00:00:13", "02:00:00:00:00:14"];

describe("the REST interface on a real API server", () => {
  let fixture: PoolFixture;
  let viewer: string;
  let tenant: string;
  let nobody: string;
  let vm: KubeObject;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    await fixture.registerWebhooks();
    [viewer, tenant, nobody] = [await account("viewer"), await account("tenant"), await account("nobody")];
    await rights.bindClusterRole(fixture.admin, "kubemacpool-view", rights.account("viewer"));
    await rights.bindClusterRole(fixture.admin, "kubemacpool-view", rights.account("tenant"), { namespace: "default" });
    vm = await fixture.admin.create(KINDS.virtualMachines, machine("web", "default", [{ name: "a" }, { name: "b" }]));
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "elsewhere" } });
    await fixture.admin.create(
      KINDS.virtualMachines,
      machine("other", "elsewhere", [{ name: "a", macAddress: "02:00:00:00:00:01" }]),
    );
    await eventually("the replica knows", async () => (await get("/api/v1/claims?phase=Bound")).body.total === 3);
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  async function account(name: string): Promise<string> {
    const ref = { name, namespace: "default" };
    await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: ref });
    const answer = await fixture.admin.createSubresource<{ status?: { token: string } }>(
      RESOURCES.serviceAccounts,
      ref,
      "token",
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: TOKEN_SECONDS },
      } as object,
    );
    return answer.status?.token ?? "";
  }

  const get = (path: string, token: string | undefined = viewer) => restGet(fixture, "one", path, token);

  it("says who has an address, in any notation", async () => {
    const mac = macsOf(vm)[0] ?? "";
    const { status, body } = await get(`/api/v1/claims/${mac.toUpperCase().replaceAll(":", "-")}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ mac, pool: "default", origin: "automatic", phase: "Bound", inRange: true });
    expect(body.owners).toMatchObject([{ kind: "VirtualMachine", namespace: "default", name: "web", interface: "a" }]);
  });

  it("lists claims by owner, part of an address, namespace and phase, page by page", async () => {
    expect((await get("/api/v1/claims?owner=web")).body.total).toBe(2);
    expect((await get("/api/v1/claims?owner=VirtualMachine/elsewhere/other")).body.total).toBe(1);
    expect((await get("/api/v1/claims?mac=025d1c")).body.total).toBe(2);
    expect((await get("/api/v1/claims?phase=Quarantined")).body.total).toBe(0);
    const first = (await get("/api/v1/claims?limit=2")).body;
    expect(first).toMatchObject({ total: 3, continue: expect.any(String) });
    const second = (await get(`/api/v1/claims?limit=2&continue=${first.continue}`)).body;
    expect(second.items).toHaveLength(1);
    expect(second.continue).toBeUndefined();
  });

  it("shows what pools have left", async () => {
    const { body } = await get("/api/v1/pools");
    expect(body.items).toMatchObject([
      { name: "default", capacity: 65_536, used: 2, free: 65_534, conflictPolicy: "Deny" },
    ]);
    expect((await get("/api/v1/pools/default")).body.ranges).toMatchObject([
      { first: "02:5d:1c:00:00:00", last: "02:5d:1c:00:ff:ff", capacity: 65_536, used: 2, free: 65_534 },
    ]);
    expect((await get("/api/v1/pools/none")).status).toBe(404);
  });

  it("is not on the port of the webhooks, nor they on its port", async () => {
    const { certificate } = fixture.controlPlane.authority;
    expect((await getFrom(fixture.httpsUrl("one"), certificate, "/api/v1/claims", viewer)).status).toBe(404);
    expect((await getFrom(fixture.httpsUrl("one"), certificate, "/readyz")).status).toBe(404);
    expect((await get("/mutate-pods")).status).toBe(404);
    expect((await get("/readyz")).status).toBe(200);
  });

  it("answers nobody without a token, and nobody who may not read claims", async () => {
    expect((await restGet(fixture, "one", "/api/v1/claims")).status).toBe(401);
    expect((await get("/api/v1/claims", "not-a-token")).status).toBe(401);
    const refused = await get("/api/v1/claims", nobody);
    expect(refused).toMatchObject({ status: 403, contentType: "application/problem+json" });
    expect(refused.body).toMatchObject({ code: "MACPOOL_FORBIDDEN", status: 403 });
  });

  it("lets the viewer of a namespace see the claims of that namespace only", async () => {
    expect((await get("/api/v1/claims", tenant)).status).toBe(403);
    expect((await get("/api/v1/claims?namespace=default", tenant)).body.total).toBe(2);
    expect((await get("/api/v1/claims?namespace=elsewhere", tenant)).status).toBe(403);
    expect((await get(`/api/v1/claims/${macsOf(vm)[0]}`, tenant)).status).toBe(200);
    expect((await get("/api/v1/claims/02:00:00:00:00:01", tenant)).status).toBe(403);
  });

  it.each([
    ["renamed", [{ name: "a", macAddress: ONE }], [{ name: "x", macAddress: ONE }]],
    [
      "swapped",
      [
        { name: "a", macAddress: TWO },
        { name: "b", macAddress: THREE },
      ],
      [
        { name: "b", macAddress: TWO },
        { name: "a", macAddress: THREE },
      ],
    ],
    ["moved", [{ name: "a", macAddress: FOUR }], [{ name: "b", macAddress: FOUR }, { name: "a" }]],
  ])("names the interface that has an address after an update: %s", async (name, before, after) => {
    const stored = await fixture.admin.create(KINDS.virtualMachines, machine(name, "default", before));
    await fixture.admin.update(KINDS.virtualMachines, { ...stored, spec: machine(name, "default", after).spec });
    const [now] = after;
    const mac = now?.macAddress ?? "";
    const named = async () => (await get(`/api/v1/claims/${mac}`)).body.owners[0].interface;
    await expect.poll(named, { timeout: 20_000 }).toBe(now?.name);
    expect((await fixture.claim(mac))?.status?.owners[0]?.interface).toBe(now?.name);
  });

  it("refuses wrong questions with the reason", async () => {
    expect((await get("/api/v1/claims/nonsense")).body).toMatchObject({ code: "MACPOOL_BAD_REQUEST", status: 400 });
    expect((await get("/api/v1/claims?limit=many")).body).toMatchObject({ code: "MACPOOL_BAD_REQUEST" });
    expect((await get("/api/v1/claims?colour=red")).status).toBe(400);
    expect((await get("/api/v1/claims/02:5d:1c:ff:ff:ff")).status).toBe(404);
  });
});
