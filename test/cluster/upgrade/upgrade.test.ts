import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeAppTree } from "../../../deploy/image/app-tree.ts";
import { DEFAULT_IMAGE } from "../../../src/api/image.ts";
import { MAC_CLAIMS, NETWORK_ADDONS_CONFIGS, VIRTUAL_MACHINE_INSTANCES } from "../../../src/api/kinds.ts";
import { DEFAULT_NAMESPACE, LINUX_BRIDGE_WEBHOOK, OPERATOR_NAME, PRODUCT_VERSION } from "../../../src/api/names.ts";
import type { NetworkAddonsConfig } from "../../../src/api/network-addons-config.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { eventually } from "../../support/eventually.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { mustRun, runCommand, shellQuote } from "../command.ts";
import { attachmentDefinition, NAMESPACE, networkAddonsConfig, virtualMachine } from "../demo/objects.ts";
import { workloads } from "../demo/workloads.ts";
import { installKubevirt } from "../kubevirt/install.ts";
import type { VirtualMachineInstance } from "../kubevirt/virtual-machine.ts";
import { makeRunDirectory } from "../run-directory.ts";
import { Admissions, MACHINES, macOf } from "./admissions.ts";

/** The release before this one, from the repository's history: its manifest, and its sources as the tree of an image. */

const repository = join(import.meta.dirname, "..", "..", "..");

/** The last commit of the release before this one. */
const COMMIT = "df97df5ff74a7f18b7ee28d6e601a3d6db8adb8a";
/** The image that its manifest names. */
const PREVIOUS_IMAGE = "registry.invalid/cluster-network-addons:0.1.0";

/** A shallow clone has no history. */
async function hasPreviousRelease(): Promise<boolean> {
  return (await runCommand(["git", "cat-file", "-e", `${COMMIT}^{commit}`], { cwd: repository })).code === 0;
}

function previousManifest(): Promise<string> {
  return mustRun(["git", "show", `${COMMIT}:deploy/release.yaml`], { cwd: repository });
}

/** Writes the sources to `folder`, with the npm packages and the CNI plugins of this tree; resolves with its image's tree. */
async function writePreviousTree(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const target = shellQuote(folder);
  await mustRun(["sh", "-c", `git archive ${COMMIT} | tar -x -C ${target}`], { cwd: repository });
  // Hard links where both are on one file system: the packages are half a gigabyte.
  const copy = `cp -al node_modules dist ${target} 2>/dev/null || cp -a node_modules dist ${target}`;
  await mustRun(["sh", "-c", copy], { cwd: repository });
  const program = 'console.log(await (await import("./deploy/image/app-tree.ts")).writeAppTree())';
  const printed = await mustRun([process.execPath, "--input-type=module", "-e", program], { cwd: folder });
  return printed.trim().split("\n").at(-1) ?? "";
}

const CONFIGS: Resource<NetworkAddonsConfig & KubeObject> = NETWORK_ADDONS_CONFIGS;
const CLAIMS: Resource<KubeObject> = MAC_CLAIMS;
const INSTANCES = VIRTUAL_MACHINE_INSTANCES as Resource<VirtualMachineInstance & KubeObject>;
const PREVIOUS_VERSION = "0.1.0";
/** This release under a version that differs from the previous one's. */
const VERSION = "0.99.0";
const IMAGE = DEFAULT_IMAGE.replace(PRODUCT_VERSION, VERSION);
const MACHINE_NAMES = ["web-1", "web-2", "web-3"];
const LIMIT = { limitMs: 240_000 };

/** One story: the tests follow each other on one cluster, with VMs that run all the time. */
describe.skipIf(!(await hasPreviousRelease()))(
  "an upgrade from the previous release and back",
  { timeout: 600_000 },
  () => {
    let cluster: Cluster;
    let client: KubeClient;
    let kubevirt: AsyncDisposable;
    let directory: string;
    let before: Snapshot;
    let admissions: Admissions;

    beforeAll(async () => {
      directory = await makeRunDirectory();
      const previousTree = await writePreviousTree(join(directory, "previous"));
      cluster = await startCluster({
        nodes: [
          { name: "node-a", bridges: ["br1"] },
          { name: "node-b", bridges: ["br1"] },
        ],
        images: { [PREVIOUS_IMAGE]: previousTree, [IMAGE]: await writeAppTree() },
      });
      client = await cluster.client();
      kubevirt = await installKubevirt(cluster.kubeconfig);
      admissions = new Admissions(client, (name) => {
        const machine = virtualMachine(name) as { spec: object };
        return { ...machine, spec: { ...machine.spec, runStrategy: "Halted" } };
      });
      await apply(await previousManifest());
      await apply(JSON.stringify(networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} })));
      await settled(PREVIOUS_VERSION, PREVIOUS_IMAGE);
      await apply(JSON.stringify(attachmentDefinition()));
      for (const name of MACHINE_NAMES) await apply(JSON.stringify(virtualMachine(name)));
      await allRun();
      before = await snapshot();
      admissions.start();
    }, 600_000);
    afterAll(async () => {
      await admissions?.stop();
      await kubevirt?.[Symbol.asyncDispose]();
      await client?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
      if (directory !== undefined) await rm(directory, { recursive: true, force: true });
    });

    const apply = (text: string, ...flags: string[]): Promise<string> =>
      cluster.mustKubectl(["apply", "--server-side", ...flags, "-f", "-"], text);

    /** The configuration is Available in this version, and every pod of every workload has this image and is ready. */
    async function settled(version: string, image: string): Promise<void> {
      let last = "";
      await eventually(
        `everything to run in version ${version}`,
        async () => {
          const { status } = await client.get(CONFIGS, { name: "cluster" });
          const conditions = (status?.conditions ?? []).map((each) => `${each.type}=${each.status}`);
          const troubles = (status?.conditions ?? []).flatMap(({ message }) => message ?? []);
          const { items } = await client.list(RESOURCES.pods, { namespace: "cluster-network-addons" });
          const pods = items.map(({ metadata, spec }) => `${metadata.name} ${spec?.containers[0]?.image}`);
          last = JSON.stringify({ conditions, troubles, pods, observed: status?.observedVersion });
          return (
            status?.observedVersion === version &&
            conditions.includes("Available=True") &&
            conditions.includes("Degraded=False") &&
            pods.every((pod) => pod.endsWith(` ${image}`)) &&
            (await workloads(client)).every(({ ready, desired }) => ready === desired)
          );
        },
        { ...LIMIT, state: () => last },
      );
    }

    async function allRun(): Promise<void> {
      await eventually(
        "every VM to run",
        async () => {
          const { items } = await client.list(INSTANCES, { namespace: NAMESPACE });
          return MACHINE_NAMES.every((name) =>
            items.some(({ metadata, status }) => metadata.name === name && status?.phase === "Running"),
          );
        },
        LIMIT,
      );
    }

    interface Snapshot {
      /** Of each running VM: its MAC, the UIDs of its instance and its pod. */
      readonly machines: Readonly<Record<string, readonly (string | undefined)[]>>;
      /** UIDs of the claims of these MACs. */
      readonly claims: readonly (string | undefined)[];
      /** Certificate of the authority behind the injection webhook. */
      readonly authority: string | undefined;
    }

    async function snapshot(): Promise<Snapshot> {
      const machines: Record<string, (string | undefined)[]> = {};
      const macs = new Set<string | undefined>();
      for (const name of MACHINE_NAMES) {
        const ref = { name, namespace: NAMESPACE };
        const mac = macOf(await client.get(MACHINES, ref));
        const instance = await client.get(INSTANCES, ref);
        const labelSelector = `kubevirt.io/created-by=${instance.metadata.uid}`;
        const { items } = await client.list(RESOURCES.pods, { namespace: NAMESPACE, labelSelector });
        machines[name] = [
          mac,
          instance.status?.phase,
          instance.metadata.uid,
          ...items.map(({ metadata }) => metadata.uid),
        ];
        macs.add(mac);
      }
      const { items } = await client.list(CLAIMS);
      const claims = items.filter(({ spec }) => macs.has((spec as { mac?: string }).mac));
      const secret = { name: `${LINUX_BRIDGE_WEBHOOK}-ca`, namespace: DEFAULT_NAMESPACE };
      const authority = (await client.get(RESOURCES.secrets, secret)).data?.["tls.crt"];
      return { machines, claims: claims.map(({ metadata }) => metadata.uid).sort(), authority };
    }

    it("starts with three VMs and their claims", () => {
      expect(before.claims).toHaveLength(MACHINE_NAMES.length);
    });

    it("brings everything to the new release and touches no VM", async () => {
      const text = await readFile(join(import.meta.dirname, "../../../deploy/release.yaml"), "utf8");
      const startedMs = performance.now();
      await apply(text.replaceAll(PRODUCT_VERSION, VERSION));
      await settled(VERSION, IMAGE);
      console.log(
        `upgraded in ${Math.round(performance.now() - startedMs)} ms, ${admissions.macs.length} VMs admitted`,
      );
      expect(await snapshot()).toEqual(before);
    });

    it("moves the rights to write certificates from the injection webhook to the operator", async () => {
      const may = async (account: string, ...request: string[]): Promise<string> => {
        const as = `--as=system:serviceaccount:${DEFAULT_NAMESPACE}:${account}`;
        return (await cluster.kubectl(["auth", "can-i", ...request, "-n", DEFAULT_NAMESPACE, as])).stdout.trim();
      };
      const writes = [
        ["patch", `mutatingwebhookconfigurations/${LINUX_BRIDGE_WEBHOOK}`],
        ["patch", `secrets/${LINUX_BRIDGE_WEBHOOK}`],
        ["patch", `secrets/${LINUX_BRIDGE_WEBHOOK}-ca`],
      ];
      for (const write of writes) {
        expect([...write, await may(LINUX_BRIDGE_WEBHOOK, ...write)]).toEqual([...write, "no"]);
        expect([...write, await may(OPERATOR_NAME, ...write)]).toEqual([...write, "yes"]);
      }
    });

    it("gives a new VM its address and its bridge", async () => {
      await apply(JSON.stringify(virtualMachine("after")));
      await eventually(
        "the new VM to run",
        async () => (await client.get(INSTANCES, { name: "after", namespace: NAMESPACE })).status?.phase === "Running",
        LIMIT,
      );
    });

    it("brings everything back to the previous release and touches no VM", async () => {
      const startedMs = performance.now();
      // The previous manifest has the definitions that the operator applies too.
      await apply(await previousManifest(), "--force-conflicts");
      await settled(PREVIOUS_VERSION, PREVIOUS_IMAGE);
      console.log(
        `went back in ${Math.round(performance.now() - startedMs)} ms, ${admissions.macs.length} VMs admitted`,
      );
      expect(await snapshot()).toEqual(before);
    });

    it("admitted every VM that was created meanwhile, and gave no address twice", async () => {
      await admissions.stop();
      expect(admissions.failures).toEqual([]);
      expect(admissions.macs.length).toBeGreaterThan(0);
      const all = [...admissions.macs, ...Object.values(before.machines).map(([mac]) => mac)];
      expect(new Set(all).size).toBe(all.length);
    });

    it("kept the claim of every creation: one that was made again would be called explicit or observed", async () => {
      const { items } = await client.list(CLAIMS);
      const origins = new Map(
        items.map(({ spec }) => [(spec as { mac: string }).mac, (spec as { origin: string }).origin]),
      );
      expect(admissions.macs.filter((mac) => origins.get(mac) !== "automatic")).toEqual([]);
    });
  },
);
