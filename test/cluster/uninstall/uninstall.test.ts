import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeRelease } from "../../../deploy/release.ts";
import { DEFAULT_IMAGE } from "../../../src/api/image.ts";
import { MAC_CLAIMS, MAC_POOLS, NETWORK_ADDONS_CONFIGS } from "../../../src/api/kinds.ts";
import {
  DEFAULT_MAC_POOL,
  DEFAULT_NAMESPACE,
  LABEL_MANAGED_BY,
  MAC_POOL_RANGE_CONFIG_MAP,
  MANAGED_BY,
  NETWORK_ADDONS_CONFIG_NAME,
  OPERATOR_NAME,
} from "../../../src/api/names.ts";
import type { NetworkAddonsConfig } from "../../../src/api/network-addons-config.ts";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, type ObjectRef, RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { HELM_BUILD_MS } from "../../deploy/support/helm.ts";
import { eventually } from "../../support/eventually.ts";
import { ensureGoTool } from "../../tools/go-tool.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { type CommandResult, outputOf, runCommand } from "../command.ts";
import { networkAddonsConfig, virtualMachine } from "../demo/objects.ts";
import { workloads } from "../demo/workloads.ts";
import { kubevirtCrds } from "../kubevirt/crds.ts";
import type { VirtualMachine } from "../kubevirt/virtual-machine.ts";
import { plainEnv } from "../requirements.ts";
import { makeRunDirectory } from "../run-directory.ts";
import { MACHINES, macOf } from "../upgrade/admissions.ts";
import { CONFIG_FILE, HELM_RELEASE, PARTS, type Part, rowOf, WAYS, type Way } from "./ways.ts";

const repository = join(import.meta.dirname, "../../..");
const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;
const CONFIG = { name: NETWORK_ADDONS_CONFIG_NAME };
const POOLS: Resource<KubeObject> = MAC_POOLS;
const CLAIMS: Resource<KubeObject> = MAC_CLAIMS;
const DEFINITION = { name: `${NETWORK_ADDONS_CONFIGS.plural}.${NETWORK_ADDONS_CONFIGS.group}` };
/** A webhook must not outlive its server for longer. */
const WEBHOOK_LIMIT = { limitMs: 60_000 };
/** An operator whose rights went with it cannot give up its lease. */
const BACK_LIMIT = { limitMs: 90_000 };

it("docs/guide/upgrade-and-remove.md has the table of ways to uninstall as it is tested", async () => {
  const text = await readFile(join(repository, "docs/guide/upgrade-and-remove.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| `(kubectl|helm) /.test(line));
  expect(rows).toEqual(WAYS.map(rowOf));
});

/** One story: each way begins where the way back from the one before has led. */
describe("a configured product, uninstalled on a cluster with its own controllers", { timeout: 300_000 }, () => {
  let cluster: Cluster;
  let client: KubeClient;
  let directory: string;
  let machines = 0;
  let claims: ReadonlyMap<string, string>;
  let pool: string | undefined;

  beforeAll(async () => {
    directory = await makeRunDirectory();
    cluster = await startCluster({ nodes: [{ name: "node-a" }] });
    client = await cluster.client();
    await mkdir(join(directory, "bin"));
    await writeRelease(join(directory, "dist/release"), DEFAULT_IMAGE);
    await symlink(cluster.kubectlPath, join(directory, "bin/kubectl"));
    const helm = await ensureGoTool({ name: "helm", goPackage: "helm.sh/helm/v4/cmd/helm" });
    await symlink(helm, join(directory, "bin/helm"));
    await writeFile(
      join(directory, CONFIG_FILE),
      JSON.stringify(networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} })),
    );
    for (const crd of kubevirtCrds()) await client.create(RESOURCES.crds, crd as never);
    await must("kubectl apply --server-side -f dist/release/release.yaml");
    await must(`kubectl apply -f ${CONFIG_FILE}`);
    await available();
    expect(await createMachine()).toBeDefined();
    pool = (await find(POOLS, { name: DEFAULT_MAC_POOL }))?.metadata.uid;
    claims = await claimsNow();
  }, HELM_BUILD_MS);
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  function shell(command: string): Promise<CommandResult> {
    const path = `${join(directory, "bin")}:${plainEnv().PATH}`;
    const env = plainEnv({ KUBECONFIG: cluster.kubeconfig, HOME: directory, PATH: path });
    return runCommand(["sh", "-c", command], { cwd: directory, env });
  }

  async function must(command: string): Promise<void> {
    outputOf(command, await shell(command));
  }

  async function find<T extends KubeObject>(kind: Resource<T>, ref: ObjectRef): Promise<T | undefined> {
    try {
      return await client.get(kind, ref);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** There, and not being deleted. */
  async function stays(kind: Resource, ref: ObjectRef): Promise<boolean> {
    const found = await find(kind, ref);
    return found !== undefined && found.metadata.deletionTimestamp === undefined;
  }

  /** By name; the value is the UID. */
  async function claimsNow(): Promise<Map<string, string>> {
    const { items } = await client.list(CLAIMS);
    return new Map(items.map(({ metadata: { name = "", uid = "" } }) => [name, uid]));
  }

  /** Its MAC address, if it was given one. */
  async function createMachine(): Promise<string | undefined> {
    const machine = virtualMachine(`vm-${++machines}`) as { readonly spec: object };
    const halted = { ...machine, spec: { ...machine.spec, runStrategy: "Halted" } };
    return macOf(await client.create(MACHINES, halted as VirtualMachine & KubeObject));
  }

  /** The NetworkAddonsConfig is available, and an operator is at work that undoes an edit. */
  async function available(): Promise<void> {
    const range = { name: MAC_POOL_RANGE_CONFIG_MAP, namespace: DEFAULT_NAMESPACE };
    const reported = async (): Promise<boolean> => {
      const { metadata, status } = await client.get(CONFIGS, CONFIG);
      const isAvailable = status?.conditions?.some(({ type, status }) => type === "Available" && status === "True");
      return isAvailable === true && status?.observedGeneration === metadata.generation;
    };
    await eventually("the NetworkAddonsConfig to be available", reported, BACK_LIMIT);
    await client.patch(RESOURCES.configMaps, range, { type: "merge", body: { data: { RANGE_START: "edited" } } });
    const repaired = async () => (await client.get(RESOURCES.configMaps, range)).data?.RANGE_START !== "edited";
    await eventually("an operator that repairs", repaired, BACK_LIMIT);
    await eventually("the NetworkAddonsConfig to be available", reported, BACK_LIMIT);
  }

  /** Webhooks that refuse every request because nobody serves them. */
  async function orphans(): Promise<string[]> {
    const labelSelector = `${LABEL_MANAGED_BY}=${MANAGED_BY}`;
    const [mutating, validating] = await Promise.all([
      client.list(RESOURCES.mutatingWebhookConfigurations, { labelSelector }),
      client.list(RESOURCES.validatingWebhookConfigurations, { labelSelector }),
    ]);
    const strict = [...mutating.items, ...validating.items]
      .flatMap(({ webhooks = [] }) => webhooks)
      .filter(({ failurePolicy }) => failurePolicy === "Fail");
    const served = await Promise.all(
      strict.map(async ({ clientConfig: { service } }) => {
        const options = {
          namespace: service?.namespace ?? "",
          labelSelector: `kubernetes.io/service-name=${service?.name}`,
        };
        const { items } = await client.list(RESOURCES.endpointSlices, options);
        return items.some(({ endpoints }) => endpoints?.some(({ conditions }) => conditions?.ready));
      }),
    );
    return strict.filter((_, index) => !served[index]).map(({ name }) => name);
  }

  const present: Readonly<Record<Part, () => Promise<boolean>>> = {
    operator: () => stays(RESOURCES.deployments, { name: OPERATOR_NAME, namespace: DEFAULT_NAMESPACE }),
    components: async () => (await workloads(client)).length > 0,
    configuration: () => stays(CONFIGS, CONFIG),
    foundation: async () =>
      (await stays(RESOURCES.crds, DEFINITION)) && (await stays(RESOURCES.namespaces, { name: DEFAULT_NAMESPACE })),
    data: async () => (await find(POOLS, { name: DEFAULT_MAC_POOL }))?.metadata.uid === pool,
  };

  async function go({ commands, refused }: Way): Promise<void> {
    const results: CommandResult[] = [];
    for (const command of commands) results.push(await shell(command));
    const said = results.map(({ stderr }) => stderr).join("");
    if (refused) expect(said).toContain("A NetworkAddonsConfig exists. Delete it first");
    const codes = results.map(({ code }) => code);
    expect({ codes, said }).toEqual({ codes: commands.map(() => (refused ? 1 : 0)), said });
  }

  async function holds({ left }: Way, before: readonly object[]): Promise<void> {
    await eventually("a VM to be created", async () => [await createMachine()], WEBHOOK_LIMIT);
    for (const part of Object.keys(PARTS) as Part[]) {
      const isLeft = left.includes(part);
      await eventually(
        `${PARTS[part]} to ${isLeft ? "stay" : "go"}`,
        async () => (await present[part]()) === isLeft,
        WEBHOOK_LIMIT,
      );
    }
    await eventually("no webhook to be without its server", async () => (await orphans()).length === 0, WEBHOOK_LIMIT);
    const hasPool = left.includes("components");
    expect((await createMachine()) !== undefined).toBe(hasPool);
    if (hasPool) expect(await workloads(client)).toEqual(before);
    expect([...(await claimsNow())]).toEqual(expect.arrayContaining([...claims]));
  }

  it.each(WAYS.map((way) => [way.commands.join("; "), way] as const))("%s", async (command, way) => {
    if (command.startsWith("helm ")) {
      await must(`helm install ${HELM_RELEASE} dist/release/helm --take-ownership --force-conflicts`);
      await available();
    }
    const before = await workloads(client);
    await go(way);
    await holds(way, before);
    // However often it is tried: nothing that refuses it has gone with the first time.
    if (way.refused) {
      await go(way);
      await holds(way, before);
    }
    // The API server serves a kind a moment after its definition is there.
    for (const line of way.back) await eventually(line, () => must(line).then(() => true), BACK_LIMIT);
    await available();
    expect([...(await claimsNow())]).toEqual(expect.arrayContaining([...claims]));
    expect(await createMachine()).toBeDefined();
  });
});
