import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_IMAGE, entryPoint, IMAGE_PROCESSES } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../../src/api/names.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { isRefused, refuse } from "../operator/support/refusal.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { CONFIGS } from "./demo/demo-cluster.ts";
import { networkAddonsConfig } from "./demo/objects.ts";
import * as product from "./product.ts";
import { makeRunDirectory } from "./run-directory.ts";
import { testPod } from "./test-pods.ts";

const NAMESPACE = DEFAULT_NAMESPACE;
const ABSENT = "registry.example/absent:1";
/** It is ready for two seconds, then it ends, every time. */
const FLAPPING = "localhost/flapping:1";
const UNREADY = "localhost/unready:1";
/** The nodes of this cluster have no such runtime. */
const NO_SOCKET = "/run/containerd/containerd.sock";
/** A busy machine needs a while to start what is to end two seconds later. */
const DEADLINE_SECONDS = 8;
/** Controllers that were refused try again after a while. */
const WITHIN = { timeout: 90_000 };

const serve = (readiness: number, then: string): string => `
  process.on("SIGTERM", () => process.exit());
  const flag = process.argv.indexOf("-health-probe-port");
  const answer = (request, response) => {
    response.statusCode = request.url === "/readyz" ? ${readiness} : 200;
    response.end("the caches are not synced yet");
  };
  require("http").createServer(answer).listen(flag < 0 ? 8081 : Number(process.argv[flag + 1]), () => { ${then} });`;

async function writeTree(folder: string, program: string): Promise<string> {
  for (const process of IMAGE_PROCESSES) {
    const file = join(folder, entryPoint(process));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, program);
  }
  return folder;
}

/** One story: the tests follow each other on one cluster, with its own scheduler and controllers. */
describe("the status while something keeps pods from running", () => {
  let directory: string;
  let cluster: Cluster;
  let client: KubeClient;
  let tries = 0;

  beforeAll(async () => {
    directory = await makeRunDirectory();
    const flapping = await writeTree(
      join(directory, "flapping"),
      serve(200, "setTimeout(() => process.exit(3), 2_000)"),
    );
    const unready = await writeTree(join(directory, "unready"), serve(503, ""));
    cluster = await startCluster({ nodes: [{ name: "node-a" }], images: { [FLAPPING]: flapping, [UNREADY]: unready } });
    client = await cluster.client();
    await product.install(cluster);
    await setEnv({
      POD_TROUBLE_DEADLINE_SECONDS: String(DEADLINE_SECONDS),
      LINUX_BRIDGE_IMAGE: ABSENT,
      LINUX_BRIDGE_MARKER_IMAGE: FLAPPING,
      KUBEMACPOOL_IMAGE: UNREADY,
    });
  }, 300_000);
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  const kubectl = (...args: readonly string[]) => product.kubectl(cluster, ...args);

  const apply = (...objects: readonly object[]) => product.apply(cluster, ...objects);

  async function setEnv(variables: Readonly<Record<string, string>>): Promise<void> {
    const operator = ["-n", NAMESPACE, `deployment/${OPERATOR_NAME}`];
    const pairs = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    await kubectl("set", "env", ...operator, ...pairs);
    await kubectl("rollout", "status", "--timeout=60s", ...operator);
  }

  /** After some failures the controllers create pods ever less often, unless their object changes. */
  async function tryAgain(): Promise<void> {
    await kubectl("annotate", "daemonset,replicaset", "--all", "-n", NAMESPACE, "--overwrite", `tried=${++tries}`);
  }

  /** The level of Pod Security in the namespace. */
  async function label(level: string): Promise<void> {
    const text = `pod-security.kubernetes.io/enforce=${level}`;
    await kubectl("label", "namespace", NAMESPACE, "--overwrite", text);
  }

  const status = async () => (await client.get(CONFIGS, { name: "cluster" })).status;
  const condition = async (wanted: string) => (await status())?.conditions?.find(({ type }) => type === wanted);
  /** What the status says about a workload. */
  const said = async (workload: string): Promise<string | undefined> =>
    (await status())?.components
      ?.flatMap(({ message }) => message?.split("\n") ?? [])
      .find((line) => line.includes(`"${NAMESPACE}/${workload}"`));

  it("is degraded by a quota", async () => {
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none", namespace: NAMESPACE } };
    await apply({ ...quota, spec: { hard: { pods: "0" } } });
    await expect
      .poll(() => kubectl("get", "quota", "none", "-n", NAMESPACE, "-o", "jsonpath={.status.hard.pods}"))
      .toBe("0");
    await apply(networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} }));
    const advice = `. Raise the quota of namespace ${NAMESPACE}`;
    await expect
      .poll(() => said("kubemacpool-mac-controller-manager"))
      .toContain("its pods are refused: exceeded quota: none");
    await expect.poll(() => said("bridge-marker"), WITHIN).toContain("its pods are refused: exceeded quota: none");
    expect(await said("bridge-marker")).toContain(advice);
    expect(await condition("Degraded")).toMatchObject({ status: "True", reason: "FailedCreate" });
    expect((await status())?.components?.map(({ phase, reason }) => [phase, reason])).toEqual([
      ["Degraded", "FailedCreate"],
      ["Degraded", "FailedCreate"],
    ]);
  });

  it("is degraded by Pod Security", async () => {
    await label("restricted");
    await kubectl("delete", "quota", "none", "-n", NAMESPACE);
    await tryAgain();
    await expect
      .poll(() => said("bridge-marker"))
      .toMatch(
        /its pods are refused: violates PodSecurity "restricted:latest": host namespaces .*Run kubectl label namespace/,
      );
  });

  it("is degraded where no SecurityContextConstraints admits the pods", async () => {
    const text = "unable to validate against any security context constraint: [hostNetwork: Invalid value: true]";
    const advice = "Its account needs a SecurityContextConstraints that admits it";
    const create = () => client.create(RESOURCES.pods, testPod({ name: "probe" }) as never, { dryRun: true });
    {
      await using _ = await refuse(client, { apiGroup: "", resource: "pods", operation: "CREATE", text });
      await expect.poll(() => isRefused(create, text)).toBe(true);
      await label("privileged");
      await kubectl("delete", "pod", "-n", NAMESPACE, "-l", "control-plane=cert-manager", "--grace-period=1");
      await tryAgain();
      for (const workload of ["bridge-marker", "kubemacpool-cert-manager"]) {
        await expect.poll(() => said(workload), WITHIN).toContain(`${text}. ${advice}`);
      }
      expect(await condition("Degraded")).toMatchObject({ status: "True", reason: "FailedCreate" });
    }
    // The API server goes on with a policy for a moment after its end.
    await expect.poll(() => isRefused(create, text)).toBe(false);
    await label("restricted");
  });

  it("is degraded by a port that is taken, an image that is missing and a selector that no node has", async () => {
    // The scheduler would take it away for the marker if it were less important.
    const priorityClassName = "system-node-critical";
    const ports = [{ containerPort: 8081, hostPort: 8081 }];
    await apply(
      testPod({
        name: "squatter",
        node: "node-a",
        container: { ports },
        spec: { hostNetwork: true, priorityClassName },
      }),
    );
    await label("privileged");
    const infra = { nodeSelector: { "no-such": "node" } };
    const config = networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} }) as { readonly spec: object };
    await apply({ ...config, spec: { ...config.spec, placementConfiguration: { infra } } });
    await tryAgain();
    await expect.poll(() => said("bridge-marker"), WITHIN).toMatch(/pod bridge-marker-\w+ has no node: .*free ports/);
    await expect
      .poll(() => said("kube-cni-linux-bridge-plugin"), WITHIN)
      .toMatch(/container cni-plugins of pod .*ImagePullBackOff: .*absent:1/);
    await expect
      .poll(() => said("kubemacpool-cert-manager"), WITHIN)
      .toMatch(
        /has no node: .*node affinity\/selector.*Check the nodes, their taints and ports, and spec.placementConfiguration/,
      );
  });

  it("stays degraded while a container is ready for some seconds and crashes, again and again", async () => {
    await kubectl("delete", "pod", "squatter", "--grace-period=1");
    const crash =
      /bridge-marker": container bridge-marker of pod \S+ ends again and again, last with exit code 3 \(Error\)/;
    const restarts = async () => {
      const { items } = await client.list(RESOURCES.pods, {
        namespace: NAMESPACE,
        labelSelector: "name=bridge-marker",
      });
      return items[0]?.status?.containerStatuses?.[0]?.restartCount ?? 0;
    };
    // One crash is no trouble of a container that is ready again.
    await expect.poll(restarts, WITHIN).toBeGreaterThan(1);
    await expect.poll(() => said("bridge-marker"), WITHIN).toMatch(crash);
    const before = await restarts();
    const texts = new Set<string | undefined>();
    const watched = async () => {
      texts.add((await said("bridge-marker"))?.replace(/bridge-marker-\w+/g, "bridge-marker-pod"));
      return restarts();
    };
    await expect.poll(watched, { ...WITHIN, interval: 50 }).toBeGreaterThan(before + 1);
    expect([...texts]).toEqual([expect.stringMatching(crash)]);
  });

  it("is degraded by a volume that can't be mounted", async () => {
    await setEnv({ MULTUS_IMAGE: ABSENT, MULTUS_DYNAMIC_NETWORKS_CONTROLLER_IMAGE: UNREADY });
    const multusDynamicNetworks = { hostCRISocketPath: NO_SOCKET };
    await apply(networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {}, multus: {}, multusDynamicNetworks }));
    await expect
      .poll(() => said("dynamic-networks-controller-ds"), WITHIN)
      .toContain(`hostPath type check failed: ${NO_SOCKET} is not a socket`);
    const row = (await status())?.components?.find(({ name }) => name === "multusDynamicNetworks");
    expect(row).toMatchObject({ phase: "Degraded", reason: "FailedMount" });
  });

  it("is degraded by a pod that runs and is never ready, and says what the probe says", async () => {
    await apply(networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} }));
    const unready = /pod (kubemacpool-cert-manager-\S+) runs and is not ready: /;
    await expect.poll(() => said("kubemacpool-cert-manager"), WITHIN).toMatch(unready);
    const name = unready.exec((await said("kubemacpool-cert-manager")) ?? "")?.[1] ?? "";
    const note = "Readiness probe failed: HTTP probe failed with statuscode: 503";
    await client.create(RESOURCES.events, {
      metadata: { name: `${name}.unhealthy`, namespace: NAMESPACE },
      ...{ type: "Warning", reason: "Unhealthy", action: "Probing", note },
      eventTime: new Date().toISOString().replace("Z", "000Z"),
      reportingController: "kubelet",
      reportingInstance: "node-a",
      regarding: { apiVersion: "v1", kind: "Pod", namespace: NAMESPACE, name },
    } as never);
    await expect.poll(() => said("kubemacpool-cert-manager"), WITHIN).toContain(note);
  });

  it("is available soon after the cause is gone", async () => {
    await setEnv({
      LINUX_BRIDGE_IMAGE: DEFAULT_IMAGE,
      LINUX_BRIDGE_MARKER_IMAGE: DEFAULT_IMAGE,
      KUBEMACPOOL_IMAGE: DEFAULT_IMAGE,
    });
    const rows = async () => (await status())?.components;
    await expect.poll(rows, WITHIN).toEqual([
      { name: "linuxBridge", phase: "Available", hostPaths: ["/opt/cni/bin"] },
      { name: "kubeMacPool", phase: "Available" },
    ]);
    expect(await condition("Available")).toMatchObject({ status: "True" });
    expect(await condition("Degraded")).toMatchObject({ status: "False" });
    const text = await kubectl("logs", "-n", NAMESPACE, `deployment/${OPERATOR_NAME}`);
    expect(text.split("\n").filter((line) => line.includes("forbidden"))).toEqual([]);
  });
});
