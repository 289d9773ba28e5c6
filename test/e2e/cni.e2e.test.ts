/** containerd calls the plugins of this source tree, on a node of each supported end. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { eventually } from "../support/eventually.ts";
import { type Census, takeCensus } from "./census.ts";
import { churn } from "./churn.ts";
import { NodeCluster } from "./node-cluster.ts";
import { CNI_BIN_DIRECTORY } from "./node-config.ts";
import { OLDEST_KUBERNETES_VERSION } from "./node-programs.ts";
import { noRealNodes } from "./real-nodes.ts";
import { deletePod, runPod } from "./test-pod.ts";

/** Writes down how the runtime calls a CNI plugin of a node: a script in its place that calls the real one. */

interface CniCall {
  readonly command: string;
  readonly containerId: string;
  readonly ifname: string;
  readonly netns: string;
  readonly exitCode: number;
}

const LOG = "/var/log/cni-calls";
const REAL = "/opt/cni/real";

/** One line a call, in one write. */
const SCRIPT = `#!/bin/sh
input=$(cat)
printf '%s' "$input" | ${REAL}/\${0##*/}
code=$?
echo "\${CNI_COMMAND} \${CNI_CONTAINERID:--} \${CNI_IFNAME:--} \${CNI_NETNS:--} $code" >> ${LOG}
exit $code
`;

class CallLog {
  readonly #cluster: NodeCluster;
  readonly #node: string;

  private constructor(cluster: NodeCluster, node: string) {
    this.#cluster = cluster;
    this.#node = node;
  }

  static async of(cluster: NodeCluster, node: string, plugin: string): Promise<CallLog> {
    const log = new CallLog(cluster, node);
    const file = `${CNI_BIN_DIRECTORY}/${plugin}`;
    await log.#sh(`mkdir -p ${REAL} && mv ${file} ${REAL}/ && cat > ${file} && chmod 755 ${file}`, SCRIPT);
    return log;
  }

  async calls(): Promise<CniCall[]> {
    const text = await this.#sh(`cat ${LOG} 2>/dev/null || true`);
    const lines = text.split("\n").filter((line) => line !== "");
    return lines.map((line) => {
      const [command = "", containerId = "", ifname = "", netns = "", code = ""] = line.split(" ");
      return { command, containerId, ifname, netns: netns === "-" ? "" : netns, exitCode: Number(code) };
    });
  }

  async #sh(script: string, stdin?: string): Promise<string> {
    return await this.#cluster.mustExec(this.#node, ["sh", "-c", script], stdin);
  }
}

const NODES = ["n1", "n2"] as const;
const PODS = 100;
const PARALLEL = 10;
const CHURN_LIMIT_MS = 900_000;
/** The runtime asks every 5 s; sandboxes that ended are removed after 30 s at most. */
const LATE = { limitMs: 120_000 };

/** Another list: each pod gets a second interface from it, on a bridge without addresses. */
const SECOND_NETWORK = {
  cniVersion: "1.1.0",
  name: "second",
  plugins: [{ type: "bridge", bridge: "br1", macspoofchk: true }],
};

describe.skipIf(await noRealNodes())("real nodes with the bridge plugin", () => {
  let cluster: NodeCluster;
  let client: KubeClient;
  const logs = new Map<string, CallLog>();
  const empty = new Map<string, Census>();

  beforeAll(async () => {
    cluster = await NodeCluster.start({
      nodes: [
        { name: "n1", podNetwork: "bridge" },
        { name: "n2", podNetwork: "bridge", version: OLDEST_KUBERNETES_VERSION },
      ],
    });
    client = await cluster.client();
    for (const node of NODES) {
      logs.set(node, await CallLog.of(cluster, node, "bridge"));
      await exec(node, ["sh", "-c", "cat > /etc/cni/net.d/20-second.conflist"], JSON.stringify(SECOND_NETWORK));
      await secondNetworkIsKnown(node);
      // What the first pod makes stays: bridges, and their tables.
      await runPod(client, { name: `first-${node}`, node });
      await deletePod(client, `first-${node}`);
      empty.set(node, await takeCensus(cluster, node));
    }
  });
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  afterEach(async () => {
    const { items } = await client.list(RESOURCES.pods, { namespace: "default" });
    await Promise.all(items.map(({ metadata }) => deletePod(client, metadata.name ?? "")));
  });

  const exec = (node: string, argv: readonly string[], stdin?: string): Promise<string> =>
    cluster.mustExec(node, argv, stdin);
  const secondNetworkIsKnown = (node: string): Promise<unknown> =>
    eventually("containerd has read the second list", async () => (await logOf(node).calls()).some(isStatus), LATE);
  const isStatus = ({ command, exitCode }: { command: string; exitCode: number }): boolean =>
    command === "STATUS" && exitCode === 0;
  const logOf = (node: string): CallLog => logs.get(node) as CallLog;
  const withoutShims = (census: Census): Census => ({
    ...census,
    processes: census.processes.filter((name) => name !== "containerd-shim"),
  });
  const nothingStays = (node: string): Promise<unknown> =>
    expect.poll(() => takeCensus(cluster, node), { timeout: LATE.limitMs }).toEqual(empty.get(node));

  describe.each(NODES)("%s", (node) => {
    it("gives a pod both interfaces, and every DEL succeeds and leaves nothing", async () => {
      const pod = await runPod(client, { name: `two-${node}`, node });
      const addresses = await cluster.kubectl(["exec", `two-${node}`, "--", "ip", "-o", "link"]);
      expect(addresses.stdout).toContain("eth0@");
      expect(addresses.stdout).toContain("eth1@");
      expect(pod.status?.podIP).toMatch(/^10\.77\./);
      const during = await takeCensus(cluster, node);
      expect(during.links.filter((link) => / master (cni0|br1)$/.test(link))).toHaveLength(2);
      expect(during.records.length).toBeGreaterThan((empty.get(node) as Census).records.length);

      const added = (await logOf(node).calls()).filter(({ command }) => command === "ADD");
      const id = added.at(-1)?.containerId ?? "";
      const ofPod = async () => (await logOf(node).calls()).filter(({ containerId }) => containerId === id);
      await deletePod(client, `two-${node}`);
      await nothingStays(node);
      // The first with the namespace, the later ones when kubelet and runtime forget the sandbox.
      await eventually(
        "DELs without a namespace",
        async () => {
          const dels = (await ofPod()).filter(({ command }) => command === "DEL");
          return ["eth0", "eth1"].every((name) => dels.some(({ ifname, netns }) => ifname === name && netns === ""));
        },
        LATE,
      );
      expect((await ofPod()).filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
      await nothingStays(node);
    });

    it("is not Ready while STATUS fails, and Ready when it succeeds again", async () => {
      await exec(node, ["mv", "/opt/cni/bin/host-local", "/opt/cni/real/"]);
      const ready = async (): Promise<string | undefined> => {
        const { status } = await client.get(RESOURCES.nodes, { name: node });
        return status?.conditions?.find(({ type }) => type === "Ready")?.status;
      };
      await eventually("the node is not Ready", async () => (await ready()) === "False", LATE);
      await exec(node, ["mv", "/opt/cni/real/host-local", "/opt/cni/bin/"]);
      await eventually("the node is Ready", async () => (await ready()) === "True", LATE);
      await cluster.nodeReady(node);
    });

    it("passes CHECK, and GC removes what lost its namespace without a DEL", async () => {
      const calls = async () => (await logOf(node).calls()).filter(({ command }) => ["CHECK", "GC"].includes(command));
      await exec(node, ["ip", "netns", "add", "lost"]);
      await exec(node, ["cnitool", "add", "pods", "/run/netns/lost"]);
      await exec(node, ["cnitool", "check", "pods", "/run/netns/lost"]);
      expect((await takeCensus(cluster, node)).records).not.toEqual(empty.get(node)?.records);
      await exec(node, ["ip", "netns", "delete", "lost"]);
      await exec(node, ["cnitool", "gc", "pods", "/run/netns/none"]);
      expect(await calls()).toMatchObject([
        { command: "CHECK", exitCode: 0 },
        { command: "GC", exitCode: 0 },
      ]);
      await nothingStays(node);
    });

    it("keeps its pods when containerd and kubelet are killed, and then deletes them without a trace", async () => {
      await runPod(client, { name: `kept-${node}`, node });
      const before = await takeCensus(cluster, node);
      await cluster.killService(node, "kubelet");
      await cluster.restartService(node, "containerd");
      await cluster.startService(node, "kubelet");
      await cluster.nodeReady(node);
      await expect.poll(() => takeCensus(cluster, node), { timeout: LATE.limitMs }).toEqual(before);
      const { status } = await client.get(RESOURCES.pods, { namespace: "default", name: `kept-${node}` });
      expect(status?.containerStatuses?.[0]?.restartCount).toBe(0);
      await deletePod(client, `kept-${node}`);
      await nothingStays(node);
    });

    it("replaces a sandbox that was killed, and leaves nothing of either", async () => {
      const { status } = await runPod(client, { name: `struck-${node}`, node });
      const id = status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "") ?? "";
      await exec(node, ["pkill", "-KILL", "-x", "pause"]);
      await eventually(
        "the pod runs in a new sandbox",
        async () => {
          const pod = await client.get(RESOURCES.pods, { namespace: "default", name: `struck-${node}` });
          const now = pod.status?.containerStatuses?.[0];
          return now?.ready === true && !now.containerID?.endsWith(id);
        },
        LATE,
      );
      await deletePod(client, `struck-${node}`);
      // containerd 2.2 forgets the shim of such a sandbox: it ends with the node.
      await expect
        .poll(async () => withoutShims(await takeCensus(cluster, node)), { timeout: LATE.limitMs })
        .toEqual(withoutShims(empty.get(node) as Census));
    });

    it("starts its pods again after a power cut, and leaves nothing of the time before", async () => {
      await runPod(client, { name: `rebooted-${node}`, node });
      await cluster.reboot(node);
      await cluster.nodeReady(node);
      await eventually(
        "the pod runs again",
        async () => {
          const pod = await client.get(RESOURCES.pods, { namespace: "default", name: `rebooted-${node}` });
          const now = pod.status?.containerStatuses?.[0];
          return now?.ready === true && now.restartCount > 0;
        },
        LATE,
      );
      await deletePod(client, `rebooted-${node}`);
      await nothingStays(node);
    });

    it(
      `leaves nothing of ${PODS} pods, ${PARALLEL} at a time`,
      async () => {
        await churn(client, node, PODS, PARALLEL);
        await nothingStays(node);
      },
      CHURN_LIMIT_MS,
    );
  });
});
