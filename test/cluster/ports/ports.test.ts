import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entryPoint, IMAGE_NODE, IMAGE_PROCESSES, IMAGE_ROOT, type ImageProcess } from "../../../src/api/image.ts";
import { DEFAULT_NAMESPACE } from "../../../src/api/names.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { networkAddonsConfig } from "../demo/objects.ts";
import * as product from "../product.ts";
import type { Answers, Port } from "./siege.ts";

const NODE = "node-a";
const SIEGE = join(import.meta.dirname, "siege.ts");

/** Prints the ports on which the processes of a container listen: the kernel knows sockets by inode. */
const LISTENING = `
  const { readdirSync, readFileSync, readlinkSync } = require("fs");
  const own = new Set();
  for (const pid of readdirSync("/proc").filter((name) => /^\\d+$/.test(name))) {
    try {
      for (const fd of readdirSync("/proc/" + pid + "/fd")) own.add(readlinkSync("/proc/" + pid + "/fd/" + fd));
    } catch {}
  }
  const lines = ["tcp", "tcp6"].flatMap((table) => readFileSync("/proc/net/" + table, "utf8").trim().split("\\n").slice(1));
  const listening = lines.map((line) => line.trim().split(/\\s+/)).filter((words) => words[3] === "0A");
  const ports = listening.filter((words) => own.has("socket:[" + words[9] + "]")).map((words) => parseInt(words[1].split(":")[1], 16));
  console.log(JSON.stringify([...new Set(ports)]));`;

/** Runs in the pod of multus' daemon, whose image is not here; its port is served as the others' are. */
const WITH_MULTUS: ImageProcess = "multus-sidecar";

const processOf = ({ spec }: Pod): ImageProcess | undefined =>
  IMAGE_PROCESSES.find((each) => spec?.containers[0]?.command?.at(-1) === `${IMAGE_ROOT}/${entryPoint(each)}`);

/** What kubelet asks at which ports of the pod. */
function portOf({ spec, status }: Pod, port: number): Port {
  const [container] = spec?.containers ?? [];
  const probes = [container?.livenessProbe, container?.readinessProbe].flatMap((probe) => probe ?? []);
  const here = probes.filter(({ httpGet }) => httpGet?.port === port);
  return {
    host: here[0]?.httpGet?.host ?? status?.podIP ?? "",
    port,
    probes: here.map(({ httpGet, timeoutSeconds = 1 }) => ({ path: httpGet?.path ?? "/", timeoutSeconds })),
  };
}

/** One story: the tests follow each other on one cluster. */
describe("the ports of the product", { timeout: 300_000 }, () => {
  let cluster: Cluster;
  let client: KubeClient;

  const list = async (): Promise<readonly Pod[]> =>
    (await client.list(RESOURCES.pods, { namespace: DEFAULT_NAMESPACE })).items;

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{ name: NODE, bridges: ["br1"] }] });
    client = await cluster.client();
    await product.install(cluster);
    await product.apply(cluster, networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} }));
    await product.available(client);
  }, 300_000);
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  it("answer kubelet and others while somebody keeps idle connections and half-sent requests on all of them", async () => {
    const pods = await list();
    expect(new Set(pods.map(processOf))).toEqual(new Set(IMAGE_PROCESSES.filter((each) => each !== WITH_MULTUS)));
    const ports: Port[] = [];
    for (const pod of pods) {
      const name = pod.metadata.name ?? "";
      const { stdout, stderr } = await cluster.execInPod(DEFAULT_NAMESPACE, name, [IMAGE_NODE, "-e", LISTENING]);
      expect(stderr).toBe("");
      ports.push(...(JSON.parse(stdout) as number[]).map((port) => portOf(pod, port)));
    }
    const { stdout, stderr } = await cluster.exec(NODE, [IMAGE_NODE, SIEGE, JSON.stringify(ports)]);
    expect(stderr).toBe("");
    const answers = JSON.parse(stdout) as Answers[];
    const unanswered = answers.filter(({ status }) => Object.values(status).some((each) => typeof each === "string"));
    expect(unanswered).toEqual([]);
    const probed = answers.filter(({ status }) => "/healthz" in status);
    expect(probed.map(({ status }) => status)).toEqual(pods.map(() => ({ "/healthz": 200, "/readyz": 200 })));
    expect(answers.length - probed.length).toBeGreaterThanOrEqual(pods.length);
    const containers = (await list()).flatMap(({ status }) => status?.containerStatuses ?? []);
    expect(containers.map(({ ready, restartCount }) => ({ ready, restartCount }))).toEqual(
      pods.map(() => ({ ready: true, restartCount: 0 })),
    );
  });
});
