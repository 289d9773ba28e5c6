import { createPrivateKey, sign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NodeMACs } from "../../../../src/api/node-macs.ts";
import { type KubeObject, RESOURCES } from "../../../../src/kube/client/resource.ts";
import { OPERATIONS } from "../../../../src/mac-pool/inspection/rest/operations.ts";
import { KINDS } from "../../../../src/mac-pool/objects/kinds.ts";
import { Authority } from "../../../cluster/control-plane/authority.ts";
import { startControlPlane } from "../../../cluster/control-plane/control-plane.ts";
import { nadCrd } from "../../../cluster/multus/nad-crd.ts";
import { eventually } from "../../../support/eventually.ts";
import * as rights from "../../../support/rights.ts";
import { issueToken } from "../../account.ts";
import { machine, macsOf } from "../../machines.ts";
import { PoolFixture } from "../../pool-fixture.ts";
import { EventWatch, restGet, type Sender } from "../../rest-client.ts";
import { bridgeOf, nadOf, reportOf } from "../networks.ts";

const OUTSIDE = "02:00:00:00:00:01";

/** Rows of the matrix: who asks, and how he is answered for the cluster, for his namespace, for another one, and for pools. */
const MATRIX = [
  ["nobody", 401, 401, 401, 401],
  ["a wrong token", 401, 401, 401, 401],
  ["an expired token", 401, 401, 401, 401],
  ["a token without rights", 403, 403, 403, 403],
  ["a viewer of the namespace", 403, 200, 403, 403],
  ["a viewer of the cluster", 200, 200, 200, 200],
  ["an administrator", 200, 200, 200, 200],
  ["an administrator's certificate", 200, 200, 200, 200],
  ["a certificate without rights", 403, 403, 403, 403],
  ["a certificate of another authority", 401, 401, 401, 401],
] as const;

describe("who may ask what, on a real API server", () => {
  let fixture: PoolFixture;
  let vm: KubeObject;
  const senders = new Map<string, Sender>();

  beforeAll(async () => {
    const controlPlane = await startControlPlane();
    fixture = await PoolFixture.start({ controlPlane });
    await fixture.startReplica("one");
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] });
    await fixture.registerWebhooks();
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "elsewhere" } });
    vm = await fixture.admin.create(KINDS.virtualMachines, machine("web", "default", [{ name: "a" }]));
    const other = machine("secret", "elsewhere", [{ name: "a", macAddress: OUTSIDE }]);
    await fixture.admin.create(KINDS.virtualMachines, other);
    const thief = machine("thief", "default", [{ name: "a", macAddress: OUTSIDE }]);
    await expect(fixture.admin.create(KINDS.virtualMachines, thief)).rejects.toThrow("is in use by");
    const viewer = await account("viewer", "kubemacpool-view", "cluster");
    const foreign = await Authority.create("another authority");
    const admins = { commonName: "boss", groups: ["system:masters"], usage: ["client"] } as const;
    const strangers = { commonName: "stranger", usage: ["client"] } as const;
    for (const [name, sender] of [
      ["nobody", {}],
      ["a wrong token", { token: "not-a-token" }],
      ["an expired token", { token: await expired(viewer) }],
      ["a token without rights", { token: await account("nobody") }],
      ["a viewer of the namespace", { token: await account("tenant", "kubemacpool-view", "default") }],
      ["a viewer of the cluster", { token: viewer }],
      ["an administrator", { token: await account("admin", "cluster-admin", "cluster") }],
      ["an administrator's certificate", { pair: await controlPlane.authority.issue(admins) }],
      ["a certificate without rights", { pair: await controlPlane.authority.issue(strangers) }],
      ["a certificate of another authority", { pair: await foreign.issue(admins) }],
    ] as const) {
      senders.set(name, sender);
    }
    await fixture.admin.create(RESOURCES.crds, nadCrd as never);
    for (const nad of [nadOf("default", "blue"), nadOf("elsewhere", "red"), nadOf("elsewhere", "red-2")]) {
      await eventually("the API server serves networks", () => fixture.admin.create(KINDS.networks, nad));
    }
    await fixture.admin.create(
      KINDS.nodeMacs,
      reportOf("node-a", [bridgeOf("br1"), bridgeOf("secret-br")]) as unknown as NodeMACs,
    );
    const bound = async () => (await get("a viewer of the cluster", "/api/v1/claims?phase=Bound")).body.total;
    await eventually("the replica knows the claims", async () => (await bound()) === 2);
  }, 120_000);
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const get = (who: string, path: string) => restGet(fixture, "one", path, senders.get(who));

  /** Token of a new account that has the role in a namespace or the cluster. */
  async function account(name: string, role?: string, where?: string): Promise<string> {
    const ref = { name, namespace: "default" };
    await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: ref });
    const namespace = where === "cluster" ? undefined : where;
    if (where !== undefined)
      await rights.bindClusterRole(fixture.admin, role ?? "", rights.account(name), { namespace });
    return issueToken(fixture.admin, ref);
  }

  /** The same token as the API server would have signed it two hours ago for one hour. */
  async function expired(token: string): Promise<string> {
    const [, payload = ""] = token.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    const now = Math.floor(Date.now() / 1000);
    const key = createPrivateKey(await readFile(join(fixture.controlPlane.directory, "pki", "tokens.key")));
    const isElliptic = key.asymmetricKeyType === "ec";
    const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
    const times = { iat: now - 7_200, nbf: now - 7_200, exp: now - 3_600 };
    const text = `${encode({ alg: isElliptic ? "ES256" : "RS256" })}.${encode({ ...claims, ...times })}`;
    const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  }

  /** How a watch is answered, which has no end. */
  async function statusOfWatch(who: string, path: string): Promise<number> {
    const ca = fixture.controlPlane.authority.certificate;
    using watch = new EventWatch(fixture.inspectionUrl("one"), ca, path, senders.get(who) ?? {});
    await eventually(`the answer to ${path}`, () => watch.status !== 0);
    return watch.status;
  }

  /** A question of each operation for the cluster, the own namespace and another one; undefined where there is none. */
  function paths(): (readonly [string, (string | undefined)[]])[] {
    const mac = macsOf(vm)[0] ?? "";
    const scoped = (path: string): string[] => [path, `${path}?namespace=default`, `${path}?namespace=elsewhere`];
    return [
      ["listPools", ["/api/v1/pools"]],
      ["getPool", ["/api/v1/pools/default"]],
      ["getMap", ["/api/v1/pools/default/map"]],
      ["listClaims", scoped("/api/v1/claims")],
      ["getClaim", [undefined, `/api/v1/claims/${mac}`, `/api/v1/claims/${OUTSIDE}`]],
      [
        "getOwner",
        [undefined, "/api/v1/owners/VirtualMachine/default/web", "/api/v1/owners/VirtualMachine/elsewhere/secret"],
      ],
      ["listCollisions", scoped("/api/v1/collisions")],
      ["listDenials", scoped("/api/v1/denials")],
      ["getConsistency", scoped("/api/v1/consistency")],
      ["listNamespaces", scoped("/api/v1/namespaces")],
      ["listNetworks", scoped("/api/v1/networks")],
      ["getNetwork", [undefined, "/api/v1/networks/default/blue", "/api/v1/networks/elsewhere/red"]],
      ["listBridges", scoped("/api/v1/bridges")],
      [
        "checkAddress",
        [undefined, `/api/v1/check?mac=${mac}&namespace=default`, `/api/v1/check?mac=${mac}&namespace=elsewhere`],
      ],
      ["getStatus", ["/api/v1/status"]],
    ];
  }

  /** The same of each operation that can be watched. */
  function watchedPaths(): (readonly [string, (string | undefined)[]])[] {
    const watched = new Set(OPERATIONS.flatMap(({ id, watch }) => (watch === undefined ? [] : [id])));
    return paths()
      .filter(([id]) => watched.has(id))
      .map(([id, asked]) => [`watch of ${id}`, asked.map((path) => path && watchOf(path))]);
  }

  const watchOf = (path: string): string => `${path}${path.includes("?") ? "&" : "?"}watch=true`;

  it("is decided for each operation by RBAC alone", async () => {
    expect(paths().map(([id]) => id)).toEqual(OPERATIONS.map(({ id }) => id));
    expect(watchedPaths()).toHaveLength(6);
    const wrong: string[] = [];
    const seen = new Map<string, string[]>();
    for (const [who, cluster, own, other, pools] of MATRIX) {
      for (const [id, asked] of [...paths(), ...watchedPaths()]) {
        const ask = async (path: string): Promise<number> =>
          id.startsWith("watch") ? statusOfWatch(who, path) : (await get(who, path)).status;
        const expected = asked.length === 1 ? [pools] : [cluster, own, other];
        const statuses: (number | string)[] = [];
        for (const [place, path] of asked.entries()) {
          const status = path === undefined ? "-" : await ask(path);
          statuses.push(status);
          if (path !== undefined && status !== expected[place]) wrong.push(`${who} ${path}: ${status}`);
        }
        seen.set(id, [...(seen.get(id) ?? []), statuses.join("/")]);
      }
    }
    const header = ["operation", ...MATRIX.map(([who]) => who)].join(" | ");
    console.log([header, ...[...seen].map(([id, statuses]) => [id, ...statuses].join(" | "))].join("\n"));
    expect(wrong).toEqual([]);
  });

  it("says who asks by the header that proxies pass on, which counts before the other", async () => {
    const token = senders.get("a viewer of the cluster")?.token ?? "";
    const headers = { "macpool-authorization": `Bearer ${token}` };
    expect((await restGet(fixture, "one", "/api/v1/pools", { headers })).status).toBe(200);
    expect((await restGet(fixture, "one", "/api/v1/pools", { token: "wrong", headers })).status).toBe(200);
    const wrong = { "macpool-authorization": "Bearer wrong" };
    expect((await restGet(fixture, "one", "/api/v1/pools", { token, headers: wrong })).status).toBe(401);
  });

  it("tells the viewer of a namespace no name of another one", async () => {
    const asked = [
      "/api/v1/claims?namespace=default",
      "/api/v1/claims?namespace=default&search=secret",
      "/api/v1/denials?namespace=default&name=thief",
      "/api/v1/consistency?namespace=default",
      `/api/v1/check?mac=${OUTSIDE}&namespace=default`,
      "/api/v1/owners/VirtualMachine/default/thief",
      `/api/v1/claims/${OUTSIDE}?namespace=default`,
      `/api/v1/claims/${OUTSIDE}`,
      "/api/v1/pools/secrett",
      "/api/v1/namespaces?namespace=default",
      "/api/v1/networks?namespace=default",
      "/api/v1/networks/default/bluee",
      "/api/v1/bridges?namespace=default",
    ];
    const answers = await Promise.all(asked.map((path) => get("a viewer of the namespace", path)));
    const text = JSON.stringify(answers.map(({ body }) => body));
    expect(text).not.toContain('secret"');
    expect(text).not.toContain("elsewhere/");
    expect(answers[2]?.body.items).toMatchObject([
      {
        name: "thief",
        code: "MACPOOL_CONFLICT",
        mac: OUTSIDE,
        message: expect.stringContaining("in another namespace"),
      },
    ]);
    expect(answers[6]?.status).toBe(404);
    expect(answers[10]?.body.items.map(({ name }: { name: string }) => name)).toEqual(["blue"]);
    expect(answers[11]?.body.didYouMean).toBe("blue");
    expect(answers[12]?.body.items).toMatchObject([{ name: "br1", networks: 1 }]);
    const all = await get("a viewer of the cluster", "/api/v1/denials?namespace=default&name=thief");
    expect(all.body.items[0].message).toContain("elsewhere/secret");
  });

  it("refuses each wrong parameter by its name, before anything is looked up", async () => {
    const mac = macsOf(vm)[0] ?? "";
    const token = (await get("a viewer of the cluster", "/api/v1/claims?limit=1")).body.continue;
    const long = "x".repeat(2_000);
    for (const [path, parameter] of [
      ["/api/v1/claims?limit=0", "limit"],
      ["/api/v1/claims?limit=5001", "limit"],
      ["/api/v1/claims?limit=1e9", "limit"],
      ["/api/v1/claims?limit=many", "limit"],
      ["/api/v1/claims?limit=1&limit=2", "limit"],
      ["/api/v1/claims?phase=Free", "phase"],
      ["/api/v1/claims?origin=stolen", "origin"],
      ["/api/v1/claims?colour=red", "colour"],
      ["/api/v1/claims?__proto__=1", "__proto__"],
      ["/api/v1/claims?search=", "search"],
      [`/api/v1/claims?search=${long}`, "search"],
      [`/api/v1/claims?owner=${long}`, "owner"],
      ["/api/v1/claims?namespace=No_Name", "namespace"],
      ["/api/v1/claims?namespace=..%2Fsecrets", "namespace"],
      ["/api/v1/claims?continue=nonsense", "continue"],
      [`/api/v1/claims?phase=Bound&continue=${token}`, "continue"],
      ["/api/v1/claims?watch=perhaps", "watch"],
      ["/api/v1/claims/nonsense", "mac"],
      ["/api/v1/claims/02:00:00:00:00:00:00:01", "mac"],
      ["/api/v1/claims/02:00-00:00:00:01", "mac"],
      ["/api/v1/pools/default/map?cells=0", "cells"],
      ["/api/v1/pools/default/map?cells=4097", "cells"],
      ["/api/v1/pools/default/map?from=high", "from"],
      ["/api/v1/pools/default/map?from=02:5d:1c:00:00:02&to=02:5d:1c:00:00:01", "to"],
      ["/api/v1/pools/default/map?from=06:00:00:00:00:00", "from"],
      ["/api/v1/owners/Node/default/web", "kind"],
      ["/api/v1/check?namespace=default", "mac"],
      [`/api/v1/check?mac=${mac}`, "namespace"],
      ["/api/v1/denials?local=1", "local"],
      ["/api/v1/pools?namespace=default", "namespace"],
    ] as const) {
      const { status, body, contentType } = await get("a viewer of the cluster", path);
      expect([path, status, body.parameter, body.code]).toEqual([path, 400, parameter, "MACPOOL_BAD_REQUEST"]);
      expect(contentType).toBe("application/problem+json");
      expect(JSON.stringify(body)).not.toMatch(/\\n +at |\.ts:|node:/);
    }
    expect((await get("nobody", "/api/v1/claims?limit=0")).status).toBe(401);
    for (const [path, wanted, code] of [
      ["/api/v1/%00", 404, "MACPOOL_UNKNOWN_PATH"],
      ["/api/v1/claims/%ff", 400, "MACPOOL_BAD_PATH"],
      ["/api/v1/nothing", 404, "MACPOOL_UNKNOWN_PATH"],
      [`/api/v1/${long}`, 404, "MACPOOL_UNKNOWN_PATH"],
    ] as const) {
      const { status, body, contentType } = await get("a viewer of the cluster", path);
      expect([path, status, body.code, contentType]).toEqual([path, wanted, code, "application/problem+json"]);
    }
  });

  it("says what was probably meant", async () => {
    const mean = async (path: string) => (await get("a viewer of the cluster", path)).body.didYouMean;
    expect(await mean("/api/v1/pools/defautl")).toBe("default");
    expect(await mean("/api/v1/namespaces?namespace=elsewere")).toBe("elsewhere");
    expect(await mean("/api/v1/owners/VirtualMachine/default/wep")).toBe("web");
    expect(await mean("/api/v1/claims/02:00:00:00:00:02")).toBe(OUTSIDE);
  });

  it("answers 304 while nothing has changed", async () => {
    const { headers } = await get("a viewer of the cluster", "/api/v1/claims");
    const sender = { ...senders.get("a viewer of the cluster"), headers: { "if-none-match": String(headers.etag) } };
    expect((await restGet(fixture, "one", "/api/v1/claims", sender)).status).toBe(304);
    await fixture.admin.create(KINDS.virtualMachines, machine("more", "default", [{ name: "a" }]));
    await eventually(
      "another answer",
      async () => (await restGet(fixture, "one", "/api/v1/claims", sender)).status === 200,
    );
  });
});
