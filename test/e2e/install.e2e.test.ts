/** The README's install on a node of each supported end, and what the kernel then says about every process of the product. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_NAMESPACE } from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import { CliProcess } from "../cli/support/cli-process.ts";
import { containerOf, InstalledProduct } from "./installed-product.ts";
import type { NodeCluster } from "./node-cluster.ts";
import { OLDEST_KUBERNETES_VERSION } from "./node-programs.ts";
import { noRealNodes } from "./real-nodes.ts";
import { containerMemory, processSecurity } from "./security.ts";

const LIMIT_MS = 300_000;
const BUILD_LIMIT_MS = 900_000;
const RESTRICTED = {
  ...{ capabilities: [], noNewPrivileges: true, seccomp: 2, uid: 65532, gid: 65532 },
  ...{ readOnlyRoot: true, token: true, hostNetwork: false },
};

/** What each workload may be, by its pods' names; its processes are restricted apart from that. */
const WORKLOADS: Readonly<Record<string, object>> = {
  "cluster-network-addons-operator": {},
  "linux-bridge-webhook": {},
  "kubemacpool-mac-controller-manager": {},
  "kubemacpool-cert-manager": {},
  "bridge-marker": { hostNetwork: true },
  "kube-cni-linux-bridge-plugin": { hostNetwork: true, uid: 0, gid: 0, capabilities: ["dac_override", "net_admin"] },
};

describe.skipIf(await noRealNodes())(
  "real nodes with the release",
  () => {
    let product: InstalledProduct;
    let cluster: NodeCluster;

    beforeAll(async () => {
      product = await InstalledProduct.prepare([{ name: "n1" }, { name: "n2", version: OLDEST_KUBERNETES_VERSION }]);
      cluster = product.cluster;
    }, BUILD_LIMIT_MS);
    afterAll(async () => {
      await product?.[Symbol.asyncDispose]();
    });

    const nameOf = ({ metadata }: Pod): string => metadata.name ?? "";
    const workloadOf = (pod: Pod): string =>
      Object.keys(WORKLOADS).find((name) => nameOf(pod).startsWith(`${name}-`)) ?? nameOf(pod);

    it("is Available after the README's commands", async () => {
      const began = performance.now();
      const stdout = await product.install();
      expect(stdout).toContain("networkaddonsconfig.networkaddonsoperator.network.kubevirt.io/cluster condition met");
      console.log(`${stdout}Available ${Math.round(performance.now() - began)} ms after the first command`);
      expect([...new Set((await product.pods()).map(workloadOf))].sort()).toEqual(Object.keys(WORKLOADS).sort());
    });

    it("runs every process with the rights that are declared, and no more", async () => {
      const found: Record<string, object> = {};
      const expected: Record<string, object> = {};
      for (const pod of await product.pods()) {
        const { node, id } = containerOf(pod);
        found[nameOf(pod)] = await processSecurity(cluster, node, id);
        expected[nameOf(pod)] = { ...RESTRICTED, ...WORKLOADS[workloadOf(pod)] };
      }
      console.table(found);
      expect(found).toEqual(expected);
    });

    it("needs no more memory than it asks for", async () => {
      const rows: Record<string, { requestMiB: number; workingSetMiB: number; usedMiB: number }> = {};
      for (const pod of await product.pods()) {
        const { node, id } = containerOf(pod);
        const { usedBytes, workingSetBytes } = await containerMemory(cluster, node, id);
        const request = String(pod.spec?.containers[0]?.resources?.requests?.memory);
        expect(request).toMatch(/^\d+Mi$/);
        rows[nameOf(pod)] = {
          requestMiB: Number.parseInt(request, 10),
          workingSetMiB: Math.round(workingSetBytes / 1024 ** 2),
          usedMiB: Math.round(usedBytes / 1024 ** 2),
        };
      }
      console.table(rows);
      const tooMuch = Object.entries(rows).filter(([, { requestMiB, workingSetMiB }]) => workingSetMiB > requestMiB);
      expect(tooMuch).toEqual([]);
    });

    it("lets Pod Security restrict every pod but the node daemons'", async () => {
      // The API server names the pods that a level would not admit.
      const label = "pod-security.kubernetes.io/enforce=restricted";
      const args = ["label", "--overwrite", "--dry-run=server", "namespace", DEFAULT_NAMESPACE, label];
      const { code, stderr } = await cluster.kubectl(args);
      expect(code).toBe(0);
      const daemons = Object.entries(WORKLOADS).filter(([, rights]) => "hostNetwork" in rights);
      const others = Object.keys(WORKLOADS).filter((name) => !daemons.some(([daemon]) => daemon === name));
      for (const [name] of daemons) expect(stderr).toContain(name);
      for (const name of others) expect(stderr).not.toContain(`${name}-`);
    });

    it("answers kubectl macpool of an administrator who has a client certificate", async () => {
      await using cli = await CliProcess.build();
      cli.kubeconfig = cluster.kubeconfig;
      for (const argv of [
        ["namespaces"],
        ["networks"],
        ["list", "-A"],
        ["list", "--pool-namespace", DEFAULT_NAMESPACE],
      ]) {
        const { code, stderr } = await cli.run(...argv);
        expect(code).toBe(0);
        expect(stderr).not.toContain("can't be asked");
      }
      expect((await cli.run("status")).stdout).toMatch(/No problems/);
    });

    it("has the plugins in the CNI directory of both nodes", async () => {
      for (const node of ["n1", "n2"]) {
        const { stdout } = await cluster.exec(node, ["ls", "/opt/cni/bin"]);
        expect(stdout.split("\n")).toEqual(expect.arrayContaining(["bridge", "tuning", "cnv-bridge", "cnv-tuning"]));
      }
    });
  },
  LIMIT_MS,
);
