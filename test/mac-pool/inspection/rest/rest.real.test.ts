import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path, { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cacheDirectory } from "../../../../cni-plugins/build/built-plugins.ts";
import { withTemporaryFolder } from "../../../../cni-plugins/build/temporary-folder.ts";
import type { MACClaim } from "../../../../src/api/mac-claim.ts";
import { DEFAULT_MAC_POOL } from "../../../../src/api/names.ts";
import { RESOURCES } from "../../../../src/kube/client/resource.ts";
import { statusOf } from "../../../../src/mac-pool/claims/claim.ts";
import { KINDS } from "../../../../src/mac-pool/objects/kinds.ts";
import { MANAGER_ACCOUNT } from "../../../../src/operator/components/kube-mac-pool-access.ts";
import { runCommand } from "../../../cluster/command.ts";
import { eventually } from "../../../support/eventually.ts";
import { Random } from "../../../support/random.ts";
import { account, bindClusterRole } from "../../../support/rights.ts";
import { issueToken } from "../../account.ts";
import { machine } from "../../machines.ts";
import { POOL_NAMESPACE, PoolFixture } from "../../pool-fixture.ts";
import { RestWatch, restGet } from "../../rest-client.ts";
import { viewerToken } from "../../viewer-token.ts";

/**
 * Schemathesis, which asks a REST interface what its OpenAPI document lets one ask, and judges the answers by it. Taken from
 * PyPI into a virtual environment outside the tree.
 */

const VERSION = "4.32.5";
const INSTALL_TIMEOUT_MS = 300_000;
const RUN_TIMEOUT_MS = 240_000;
const MODULE = "schemathesis.cli";

/** Its folder of packages, for Python's path; undefined where it can't be had. Cached. */
async function schemathesis(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const parent = cacheDirectory(env);
  const packages = path.join(parent, `schemathesis-packages-${VERSION}`);
  if (existsSync(packages)) return packages;
  return withTemporaryFolder({ parent, prefix: "schemathesis-new-" }, async (folder) => {
    const target = path.join(folder, "packages");
    const argv = ["-m", "pip", "install", "--quiet", "--target", target, `schemathesis==${VERSION}`];
    const { status } = spawnSync("python3", argv, { timeout: INSTALL_TIMEOUT_MS, stdio: "ignore" });
    if (status !== 0) return undefined;
    await rename(target, packages);
    return packages;
  });
}

/** What it printed, and whether it found nothing wrong. It keeps what it learns in the folder. */
async function runSchemathesis(
  packages: string,
  folder: string,
  args: readonly string[],
): Promise<{ readonly isFine: boolean; readonly output: string }> {
  const run = `import sys; sys.argv[0] = "schemathesis"; from ${MODULE} import schemathesis; schemathesis()`;
  const options = {
    cwd: folder,
    env: { ...process.env, PYTHONPATH: packages },
    signal: AbortSignal.timeout(RUN_TIMEOUT_MS),
  };
  const { code, stdout, stderr } = await runCommand(["python3", "-c", run, "run", ...args], options);
  return { isFine: code === 0, output: `${stdout}${stderr}` };
}

const EXAMPLES = 30;
const STEPS = 60;
const NAMESPACES = ["default", "tenant"];
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
];

const OF_WATCHES = ["watch", "since", "sendInitialEvents"];
/** What a user may ask in a second. */
const PACED = ["--rate-limit", "28/s"];

const available = await schemathesis(process.env);

describe("inspection by two replicas on a real API server", () => {
  let fixture: PoolFixture;
  let token: string;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await Promise.all([fixture.startReplica("one"), fixture.startReplica("two")]);
    await fixture.createPool(DEFAULT_MAC_POOL, { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:0f:ff" }] });
    await fixture.registerWebhooks();
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "tenant" } });
    token = await viewerToken(fixture, "viewer", "cluster");
  }, 120_000);
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const get = (replica: string, path: string) => restGet(fixture, replica, path, token);

  it("says after a random history what the MACClaims say, and tells a watch each change", async () => {
    using watch = new RestWatch(fixture, "one", "/api/v1/claims?watch=true", token);
    await eventually("the watch", () => watch.events.length > 0);
    expect(watch.events[0]?.type).toBe("RESET");
    const random = new Random(19);
    const alive: { readonly namespace: string; readonly name: string }[] = [];
    for (let step = 0; step < STEPS; step++) {
      const at = Math.floor(random.next() * alive.length);
      if (alive.length > 3 && random.next() < 0.4) {
        for (const ref of alive.splice(at, 1)) await fixture.admin.delete(KINDS.virtualMachines, ref);
        continue;
      }
      const ref = { namespace: NAMESPACES[step % 2] ?? "", name: `vm-${step}` };
      const macAddress = random.next() < 0.3 ? `02:5d:1c:00:10:${step.toString(16).padStart(2, "0")}` : undefined;
      const nics = [{ name: "a" }, { name: "b", ...(macAddress === undefined ? {} : { macAddress }) }];
      await fixture.admin.create(KINDS.virtualMachines, machine(ref.name, ref.namespace, nics));
      alive.push(ref);
    }
    const wanted = async (): Promise<string[]> => {
      const phaseOf = (claim: MACClaim) => statusOf(claim).phase.replace("Allocated", "Bound");
      return (await fixture.claims()).map((one) => `${one.spec.mac} ${phaseOf(one)} ${one.status?.owner}`).sort();
    };
    const told = async (replica: string): Promise<string[]> => {
      const lines: string[] = [];
      for (let path = "/api/v1/claims?limit=7"; ; ) {
        const { body } = await get(replica, path);
        for (const { mac, phase, owners } of body.items) {
          const [first] = owners;
          lines.push(`${mac} ${phase} ${first ? `${first.kind}/${first.namespace}/${first.name}` : "-"}`);
        }
        if (body.continue === undefined) return lines.sort();
        path = `/api/v1/claims?limit=7&continue=${body.continue}`;
      }
    };
    for (const replica of ["one", "two"]) {
      await eventually(`replica ${replica} to say what the claims say`, async () => {
        return JSON.stringify(await told(replica)) === JSON.stringify(await wanted());
      });
    }
    for (const namespace of NAMESPACES) {
      const own = (await fixture.claims()).filter(({ status }) =>
        status?.owners.some((each) => each.namespace === namespace),
      );
      expect((await get("two", `/api/v1/claims?namespace=${namespace}`)).body.total).toBe(own.length);
    }
    const { body: map } = await get("one", `/api/v1/pools/${DEFAULT_MAC_POOL}/map?cells=64`);
    const { body: pool } = await get("one", `/api/v1/pools/${DEFAULT_MAC_POOL}`);
    const used = map.cells.reduce(
      (sum: number, { size, free }: { size: number; free: number }) => sum + size - free,
      0,
    );
    expect(used).toBe(pool.used);
    await eventually("the watch to know all claims", async () => {
      const known = new Set<string>();
      for (const { type, object } of watch.events) {
        if (type === "DELETED") known.delete(object?.mac ?? "");
        else if (object?.mac !== undefined) known.add(object.mac);
      }
      return (await fixture.claims()).every(({ spec }) => known.has(spec.mac));
    });
  });

  it("resumes a watch where it was, and resets it at another replica", async () => {
    using first = new RestWatch(fixture, "one", "/api/v1/claims?watch=true", token);
    await eventually("the watch", () => first.events.length > 0);
    const { id } = first.events[0] ?? { id: "" };
    first[Symbol.dispose]();
    const missed = await fixture.admin.create(KINDS.virtualMachines, machine("missed", "default", [{ name: "a" }]));
    expect(missed.metadata.name).toBe("missed");
    await eventually(
      "the replica knows",
      async () => (await get("one", "/api/v1/claims?owner=missed")).body.total === 1,
    );
    using again = new RestWatch(fixture, "one", "/api/v1/claims?watch=true&owner=missed", token, id);
    await eventually("what was missed", () => again.events.some(({ type }) => type === "ADDED"));
    expect(again.events.map(({ type }) => type)).not.toContain("RESET");
    using other = new RestWatch(fixture, "two", "/api/v1/claims?watch=true", token, id);
    await eventually("the other replica", () => other.events.length > 0);
    expect(other.events[0]?.type).toBe("RESET");
  });

  it("merges what all replicas refused, and names one that does not answer", async () => {
    const port = (name: string): number => Number(new URL(fixture.inspectionUrl(name)).port);
    for (const [name, containerPort] of [
      ["one", port("one")],
      ["two", port("two")],
      ["gone", 1],
    ] as const) {
      await fixture.admin.create(RESOURCES.pods, {
        metadata: { name, namespace: POOL_NAMESPACE, labels: { "control-plane": "mac-controller-manager" } },
        spec: {
          serviceAccountName: MANAGER_ACCOUNT,
          containers: [{ name: "manager", image: "none", ports: [{ name: "inspection", containerPort }] }],
        },
      } as never);
      const body = { status: { phase: "Running", podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] } };
      const ref = { name, namespace: POOL_NAMESPACE };
      await fixture.admin.patch(RESOURCES.pods, ref, { type: "merge", body }, { subresource: "status" });
    }
    await fixture.admin.create(
      KINDS.virtualMachines,
      machine("owner", "default", [{ name: "a", macAddress: "02:00:00:00:00:09" }]),
    );
    const thief = (name: string) => machine(name, "tenant", [{ name: "a", macAddress: "02:00:00:00:00:09" }]);
    for (let i = 0; i < 8; i++) {
      await expect(fixture.admin.create(KINDS.virtualMachines, thief(`thief-${i}`))).rejects.toThrow("is in use by");
    }
    for (const replica of ["one", "two"]) {
      await eventually(`all refusals at replica ${replica}`, async () => {
        return (await get(replica, "/api/v1/denials?namespace=tenant")).body.total === 8;
      });
    }
    const { body } = await get("two", "/api/v1/denials");
    expect(body.partial).toEqual(["gone"]);
    const { body: consistency } = await get("one", "/api/v1/consistency");
    expect(consistency.replicas).toEqual(
      expect.arrayContaining([
        { name: "one", answers: true },
        { name: "two", answers: true },
        { name: "gone", answers: false },
      ]),
    );
    expect(["one", "two"]).toContain(consistency.leader.identity);
  });

  it.skipIf(available === undefined)(
    "keeps to its own OpenAPI document, whatever it is asked by whom",
    { timeout: 600_000 },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "schemathesis-"));
      try {
        const { body: document } = await get("one", "/openapi.json");
        for (const { get: operation } of Object.values(document.paths) as {
          get: { parameters: { name: string }[] };
        }[]) {
          // A watch has no end.
          operation.parameters = operation.parameters.filter(({ name }) => !OF_WATCHES.includes(name));
        }
        const [schema, ca] = [join(folder, "openapi.json"), join(folder, "ca.crt")];
        await writeFile(schema, JSON.stringify(document));
        await writeFile(ca, fixture.controlPlane.authority.certificate);
        const pool = { name: MANAGER_ACCOUNT, namespace: POOL_NAMESPACE };
        const itself = account(pool.name, pool.namespace);
        await bindClusterRole(fixture.admin, "kubemacpool-view", itself, { name: "the-pool-views" });
        const readers = [
          // Replicas ask each other as often as they like.
          ["a reader of the cluster", await issueToken(fixture.admin, pool), []],
          ["a reader of a namespace", await viewerToken(fixture, "tenant", { namespace: "tenant" }), PACED],
        ] as const;
        for (const [who, token, pace] of readers) {
          const { isFine, output } = await runSchemathesis(available ?? "", folder, [
            schema,
            ...[
              "--url",
              fixture.inspectionUrl("one"),
              "--tls-verify",
              ca,
              "--header",
              `Authorization: Bearer ${token}`,
            ],
            ...["--checks", CHECKS.join(","), "--phases", "examples,coverage,fuzzing"],
            ...["--seed", "19", "--warnings", "off", "--request-timeout", "20"],
            ...["--max-examples", String(EXAMPLES), ...pace],
          ]);
          const summary = output.slice(output.lastIndexOf("= SUMMARY ="));
          console.log(`${who}: ${summary}`);
          expect(isFine ? "" : output).toBe("");
          expect(summary).toContain("Tested: 15");
          // Nor was it the rate that answered.
          const { status } = await restGet(fixture, "one", "/api/v1/claims?namespace=tenant", token);
          expect(status).toBe(200);
        }
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );
});
