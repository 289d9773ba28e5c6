/** The node daemons roll, are killed and run out of disk, on a node of each supported end, while pods come and go. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import {
  BRIDGE_RESOURCE_PREFIX,
  DEFAULT_NAMESPACE,
  LINUX_BRIDGE_DAEMON_SET,
  NETWORK_ADDONS_CONFIG_NAME,
} from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { PluginGuard } from "../cluster/plugin-guard.ts";
import { eventually } from "../support/eventually.ts";
import { churnDuring } from "./churn.ts";
import { containerOf, InstalledProduct } from "./installed-product.ts";
import { pluginSums, pluginSumsOn, pushNextImage } from "./next-image.ts";
import type { NodeCluster } from "./node-cluster.ts";
import { CNI_BIN_DIRECTORY } from "./node-config.ts";
import { OLDEST_KUBERNETES_VERSION } from "./node-programs.ts";
import { noRealNodes } from "./real-nodes.ts";
import { addSecondNetwork, SECOND_BRIDGE } from "./second-network.ts";
import { pidOf } from "./security.ts";
import { deletePod, runPod } from "./test-pod.ts";

interface Configuration extends KubeObject {
  readonly status?: { readonly conditions?: readonly { type: string; status: string; message?: string }[] };
}
const CONFIGS: Resource<Configuration> = NETWORK_ADDONS_CONFIGS;
const NODES = ["n1", "n2"] as const;
const SETUP_LIMIT_MS = 900_000;
const LIMIT_MS = 600_000;
const PARALLEL = 3;
const KILLS = 2;
const ROLL = { limitMs: 300_000 };
/** The installer looks once a minute for what a killed one left, and takes files of a minute's age. */
const LATE = { limitMs: 200_000 };

/** No network of these tests uses it. */
const DAMAGED = "cnv-tuning";
const TEMPORARY = ".cluster-network-addons-tmp";
/** The CNI directory of this node is a file system of its own, which is soon full. */
const SMALL_DISK = "n2";
const FILLER = `${CNI_BIN_DIRECTORY}/filler`;
const MAKE_SMALL_DISK = `
  cp -a ${CNI_BIN_DIRECTORY} /run/cni-files; mount -t tmpfs -o mode=755,size=64m cni ${CNI_BIN_DIRECTORY}
  cp -a /run/cni-files/. ${CNI_BIN_DIRECTORY}; rm -r /run/cni-files`;
/** Damages a file, kills the process $1 as soon as it writes a new one, and lists what is there then. */
const STRIKE = `
  cd ${CNI_BIN_DIRECTORY}; echo broken > ${DAMAGED}
  tries=0; until ls -A | grep -q '${TEMPORARY}$' || [ $tries -gt 2000 ]; do tries=$((tries+1)); done
  kill -KILL $1; ls -A`;

describe.skipIf(await noRealNodes())(
  "real nodes whose daemons change",
  () => {
    let product: InstalledProduct;
    let cluster: NodeCluster;
    let client: KubeClient;
    let sums: Awaited<ReturnType<typeof pluginSums>>;
    let nextImage: string;

    beforeAll(async () => {
      product = await InstalledProduct.prepare([{ name: "n1" }, { name: "n2", version: OLDEST_KUBERNETES_VERSION }]);
      ({ cluster, client } = product);
      [sums, nextImage] = [await pluginSums(), await pushNextImage(product.image)];
      await product.cluster.mustExec(SMALL_DISK, ["sh", "-ec", MAKE_SMALL_DISK]);
      await product.install();
      for (const node of NODES) await addSecondNetwork(product, node);
    }, SETUP_LIMIT_MS);
    afterAll(async () => {
      await product?.[Symbol.asyncDispose]();
    });

    /** Every file and directory in which the product works on a node. */
    const ourPlaces = (node: string): Promise<string> =>
      product.cluster.mustExec(node, [
        "sh",
        "-c",
        `find ${CNI_BIN_DIRECTORY} /run/cni /var/lib/cni 2>/dev/null | sort`,
      ]);
    const sumsOn = (node: string) => pluginSumsOn(product, node, CNI_BIN_DIRECTORY);
    const guardOf = (node: string, files: readonly string[]): PluginGuard =>
      new PluginGuard(cluster, node, CNI_BIN_DIRECTORY, files);
    const installerOn = (node: string): Promise<Pod> => product.installerOn(node);
    const statusOf = ({ metadata, status }: Pod) => {
      const found = status?.containerStatuses?.[0];
      if (found === undefined) throw new Error(`${metadata.name} has no container yet`);
      return found;
    };
    const isReady = (pod: Pod): boolean => pod.status?.containerStatuses?.[0]?.ready === true;
    const runsEverywhere = async (image: string): Promise<boolean> => {
      const pods = await product.pods();
      return pods.every((pod) => pod.spec?.containers[0]?.image === image && isReady(pod));
    };
    const failedAdds = (): Promise<string[]> => cluster.failedAdds(NODES);
    const available = () =>
      product.cluster.mustKubectl([
        "wait",
        "networkaddonsconfig",
        NETWORK_ADDONS_CONFIG_NAME,
        "--for=condition=Available",
      ]);
    const conditions = async (): Promise<Record<string, { status: string; message?: string } | undefined>> => {
      const { status } = await client.get(CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME });
      return Object.fromEntries((status?.conditions ?? []).map((condition) => [condition.type, condition]));
    };
    const readySince = async (): Promise<unknown[]> => {
      const { items } = await client.list(RESOURCES.nodes);
      return items.map(({ status }) => status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime);
    };

    it("gives pods their second interface by the installed plugins", async () => {
      for (const node of NODES) {
        await runPod(client, { name: `first-${node}`, node });
        const links = await product.cluster.mustKubectl(["exec", `first-${node}`, "--", "ip", "-o", "link"]);
        expect(links).toContain("eth1@");
        await eventually("the bridge is the node's resource", async () => {
          const { status } = await client.get(RESOURCES.nodes, { name: node });
          return status?.capacity?.[`${BRIDGE_RESOURCE_PREFIX}${SECOND_BRIDGE}`] !== undefined;
        });
        await deletePod(client, `first-${node}`);
      }
    });

    it("rolls to another version while pods start: no ADD fails, no file is missing or half", async () => {
      const since = await readySince();
      const guards = NODES.map((node) => guardOf(node, Object.keys(sums.first)));
      const pods = await churnDuring(client, NODES, PARALLEL, async () => {
        await product.applyRelease(nextImage);
        await eventually("every pod of the product has the next image", () => runsEverywhere(nextImage), ROLL);
      });
      const reports = await Promise.all(guards.map((guard) => guard.stop()));
      console.table(reports.map(({ looks }, index) => ({ node: NODES[index], looks, pods })));
      for (const { faults, sums: seen } of reports) {
        expect(faults).toEqual([]);
        for (const [name, sum] of Object.entries(sums.first)) expect(seen[name]).toEqual([sum, sums.next[name]]);
      }
      expect(await failedAdds()).toEqual([]);
      expect(await readySince()).toEqual(since);
      await available();
    });

    it("repairs a file although the installer is killed at that, and touches no other", async () => {
      const node = "n1";
      const others = Object.keys(sums.first).filter((name) => name !== DAMAGED);
      const guard = guardOf(node, others);
      const found: object[] = [];
      const pods = await churnDuring(client, [node], PARALLEL, async () => {
        for (let kill = 1; kill <= KILLS; kill++) {
          const { restartCount } = statusOf(await installerOn(node));
          const pid = await pidOf(cluster, node, containerOf(await installerOn(node)).id);
          const left = await product.cluster.mustExec(node, ["sh", "-c", STRIKE, "sh", String(pid)]);
          found.push({ kill, unfinished: left.split("\n").filter((name) => name.endsWith(TEMPORARY)).length });
          const restarted = async (): Promise<boolean> => {
            const status = statusOf(await installerOn(node));
            return status.restartCount > restartCount && status.ready;
          };
          await eventually("the installer runs again", restarted, ROLL);
          expect(await sumsOn(node)).toEqual(sums.next);
        }
      });
      const report = await guard.stop();
      console.table(found);
      console.log(`${report.looks} looks, ${pods} pods`);
      expect(report.faults).toEqual([]);
      expect(report.sums).toEqual(Object.fromEntries(others.map((name) => [name, [sums.next[name]]])));
      expect(await failedAdds()).toEqual([]);
      await eventually(
        "files of killed installers are gone",
        async () => !(await ourPlaces(node)).includes(TEMPORARY),
        LATE,
      );
    });

    it("says that the disk is full, keeps the files whole, and goes on when there is space", async () => {
      const guard = guardOf(SMALL_DISK, Object.keys(sums.first));
      await product.cluster.mustExec(SMALL_DISK, ["sh", "-c", `cat /dev/zero > ${FILLER} 2>/dev/null || true`]);
      const was = (await installerOn(SMALL_DISK)).spec?.containers[0]?.image;
      const [image, from, to] =
        was === nextImage ? [product.image, sums.next, sums.first] : [nextImage, sums.first, sums.next];
      await product.applyRelease(image);
      const says = `the file system of ${CNI_BIN_DIRECTORY} is full: free space on the node`;
      const installer = await eventually(
        "the installer says why it is not ready",
        async () => {
          const pod = await installerOn(SMALL_DISK);
          const log = await product.cluster.mustKubectl([
            "logs",
            `--namespace=${DEFAULT_NAMESPACE}`,
            pod.metadata.name ?? "",
          ]);
          return pod.spec?.containers[0]?.image === image && log.includes(says) ? pod : undefined;
        },
        ROLL,
      );
      expect(statusOf(installer).ready).toBe(false);
      await eventually("the configuration says what is not available", async () => {
        const { Available, Progressing } = await conditions();
        return Available?.status === "False" && Progressing?.message?.includes(`${LINUX_BRIDGE_DAEMON_SET}" is not`);
      });
      expect(await sumsOn(SMALL_DISK)).toEqual(from);
      expect(await ourPlaces(SMALL_DISK)).not.toContain(TEMPORARY);
      await runPod(client, { name: "meanwhile", node: SMALL_DISK });
      await deletePod(client, "meanwhile");

      await product.cluster.mustExec(SMALL_DISK, ["rm", FILLER]);
      await eventually("every pod of the product has the other image", () => runsEverywhere(image), ROLL);
      await available();
      for (const node of NODES) expect(await sumsOn(node)).toEqual(to);
      const { faults, sums: seen } = await guard.stop();
      expect(faults).toEqual([]);
      for (const [name, sum] of Object.entries(from)) expect(seen[name]).toEqual([sum, to[name]]);
      expect(await failedAdds()).toEqual([]);
    });
  },
  LIMIT_MS,
);
