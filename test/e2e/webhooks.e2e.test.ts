/**
 * The product's webhooks while their replicas, nodes and certificates change, under a stream of requests.
 *
 * All is real but KubeVirt, of which only the kinds are there. The API server runs with aggregator
 * routing: it picks a ready endpoint of the webhook's Service itself, so kube-proxy is not in its way. The product's pods
 * reach the API server through kube-proxy.
 */
import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  DEFAULT_NAMESPACE,
  LINUX_BRIDGE_WEBHOOK,
  MAC_POOL_CA_SECRET,
  MAC_POOL_MANAGER,
  MAC_POOL_SERVICE,
  NAD_RESOURCE_NAME_ANNOTATION,
  NETWORK_ADDONS_CONFIG_NAME,
  NETWORKS_ANNOTATION,
} from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import { defineResource, type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { installKubevirt } from "../cluster/kubevirt/install.ts";
import { manifest } from "../cluster/test-pods.ts";
import { eventually } from "../support/eventually.ts";
import { AdmissionStream } from "./admission-stream.ts";
import { containerOf, InstalledProduct } from "./installed-product.ts";
import { noRealNodes } from "./real-nodes.ts";
import { deletePod, runPod, testPod } from "./test-pod.ts";

const DELETIONS = 4;
const REPLICAS = 2;
const AFTERWARDS = 25;
const LIMIT_MS = 120_000;
/** The building of the image takes most of it. */
const INSTALL_LIMIT_MS = 900_000;
const BRIDGE = "br1";
const BRIDGE_RESOURCE = `bridge.network.kubevirt.io/${BRIDGE}`;
/** How MACs of the README's range begin. */
const RANGE = "02:5d:1c:";
const SOON = {
  ...{ caRotateInterval: "30s", caOverlapInterval: "30s" },
  ...{ certRotateInterval: "15s", certOverlapInterval: "15s" },
};

/** What the API server says of a call whose connection is refused or breaks. It does not repeat such a call. */
const BROKEN_CALL = /failed calling webhook .*(connection refused|connection reset by peer|EOF)/;
/** timeoutSeconds of the pool's webhooks. */
const CALL_LIMIT_MS = 10_000;

interface VirtualMachine extends KubeObject {
  readonly spec: {
    readonly runStrategy: string;
    readonly template: {
      readonly spec: {
        readonly domain: { readonly devices: { readonly interfaces: readonly { readonly macAddress?: string }[] } };
        readonly networks: readonly object[];
      };
    };
  };
}

const VMS = defineResource<VirtualMachine>("kubevirt.io/v1", "VirtualMachine", "virtualmachines", true);

const virtualMachine = (name: string) => ({
  metadata: { name, namespace: "default" },
  spec: {
    runStrategy: "Halted",
    template: {
      spec: {
        domain: {
          devices: {
            interfaces: [
              { name: "pod", masquerade: {} },
              { name: "lan", bridge: {} },
            ],
          },
        },
        networks: [
          { name: "pod", pod: {} },
          { name: "lan", multus: { networkName: "lan" } },
        ],
      },
    },
  },
});

const macsOf = ({ spec }: VirtualMachine): string[] =>
  spec.template.spec.domain.devices.interfaces.map(({ macAddress }) => macAddress ?? "none");

const isReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;

describe.skipIf(await noRealNodes())("real nodes with webhooks under load", () => {
  const stack = new AsyncDisposableStack();
  let product: InstalledProduct;
  /** Every MAC that a VM of this file has. None of them is ever deleted. */
  const given: string[] = [];

  beforeAll(async () => {
    const nodes = ["n1", "n2"].map((name) => ({ name, bridges: [BRIDGE] }));
    product = stack.use(await InstalledProduct.prepare(nodes));
    // VMs that are never started need no controller, and it would take this process's time from the stream.
    await (await installKubevirt(product.cluster.kubeconfig))[Symbol.asyncDispose]();
    await product.install();
    await replicasReady(MAC_POOL_MANAGER);
  }, INSTALL_LIMIT_MS);

  afterAll(() => stack.disposeAsync());

  const replicasReady = (workload: string): Promise<Pod[]> => {
    let last = "";
    const ready = async () => {
      const pods = (await product.pods()).filter(({ metadata }) => metadata.name?.startsWith(`${workload}-`));
      last = JSON.stringify(pods.map(({ metadata, status }) => [metadata.name, status?.conditions]));
      return pods.length === REPLICAS && pods.every(isReady) && pods;
    };
    return eventually(`${REPLICAS} replicas of ${workload} are ready`, ready, { limitMs: LIMIT_MS, state: () => last });
  };

  /** Deletes one replica after the other, each when the one before it has its successor. */
  async function deleteReplicas(workload: string): Promise<void> {
    for (let deletion = 0; deletion < DELETIONS; deletion++) {
      const pods = await replicasReady(workload);
      const oldest = pods.sort((a, b) => age(a).localeCompare(age(b)))[0];
      await deletePod(product.client, oldest?.metadata.name ?? "", DEFAULT_NAMESPACE);
    }
    await replicasReady(workload);
  }
  const age = ({ metadata }: Pod): string => `${metadata.creationTimestamp}${metadata.name}`;

  /** Creates VMs until `change` is over. No MAC of theirs was given before. */
  async function creatingVms(prefix: string, change: (stream: AdmissionStream<VirtualMachine>) => Promise<void>) {
    const create = (index: number) =>
      product.client.create(VMS, virtualMachine(`${prefix}-${index}`) as VirtualMachine);
    await using stream = new AdmissionStream(create);
    await change(stream);
    await stream.stop();
    console.log(`${prefix}: ${stream.summary()}`);
    if (stream.refusals.length > 0) console.log(await unhealthyPods());
    given.push(...stream.answers.flatMap(macsOf));
    expect(stream.answers.length).toBeGreaterThan(0);
    expect(given.filter((mac) => !mac.startsWith(RANGE))).toEqual([]);
    expect(new Set(given).size).toBe(given.length);
    return stream;
  }

  /** What kubelets said of failing probes: it explains a Service without endpoints. */
  const unhealthyPods = (): Promise<string> =>
    product.cluster.mustKubectl([
      "get",
      "events",
      `--namespace=${DEFAULT_NAMESPACE}`,
      "--field-selector=reason=Unhealthy",
    ]);

  it("admit every VM while replicas of the pool are deleted", async () => {
    const { refusals } = await creatingVms("deleted", () => deleteReplicas(MAC_POOL_MANAGER));
    expect(refusals).toEqual([]);
  });

  it("admit every VM while one node and then the other is drained", async () => {
    const nodesOfReplicas = async () => (await replicasReady(MAC_POOL_MANAGER)).map(({ spec }) => spec?.nodeName);
    const { refusals } = await creatingVms("drained", async () => {
      for (const [drained, other] of [
        ["n1", "n2"],
        ["n2", "n1"],
      ] as const) {
        await product.cluster.mustKubectl(["drain", drained, "--ignore-daemonsets", `--timeout=${LIMIT_MS / 1000}s`]);
        expect(await nodesOfReplicas()).toEqual([other, other]);
        await product.cluster.mustKubectl(["uncordon", drained]);
      }
    });
    expect(refusals).toEqual([]);
  });

  it("admit every VM while serving certificates and CAs rotate", async () => {
    const serving = new Set<string>();
    const authorities = new Set<string>();
    const { refusals } = await creatingVms("rotated", async () => {
      await configure({ selfSignConfiguration: SOON });
      const rotated = async () => {
        serving.add(await certificateOf(MAC_POOL_SERVICE));
        authorities.add(await certificateOf(MAC_POOL_CA_SECRET));
        return serving.size > 4 && authorities.size > 2;
      };
      const state = () => `${serving.size} certificates of ${authorities.size} CAs`;
      await eventually("certificates rotated", rotated, { limitMs: 2 * LIMIT_MS, state });
      await configure({ selfSignConfiguration: null });
    });
    console.log(`${serving.size} serving certificates, ${authorities.size} CAs`);
    expect(refusals).toEqual([]);
  });

  const configure = async (changes: object): Promise<void> => {
    const patch = ["--type=merge", "--patch", JSON.stringify({ spec: changes })];
    await product.cluster.mustKubectl(["patch", "networkaddonsconfig", NETWORK_ADDONS_CONFIG_NAME, ...patch]);
  };

  const certificateOf = async (secret: string): Promise<string> => {
    const { data } = await product.client.get(RESOURCES.secrets, { namespace: DEFAULT_NAMESPACE, name: secret });
    return new X509Certificate(Buffer.from(data?.["tls.crt"] ?? "", "base64")).fingerprint256;
  };

  it("admit VMs while replicas are killed, apart from calls to the killed one until its endpoint is gone", async () => {
    const ends: { killedMs: number; replacedMs: number }[] = [];
    const { refusals } = await creatingVms("killed", async ({ answers }) => {
      for (const pod of await replicasReady(MAC_POOL_MANAGER)) {
        const { node, id } = containerOf(pod);
        const killedMs = performance.now();
        await product.cluster.mustExec(node, ["ctr", "tasks", "kill", "--signal", "SIGKILL", id]);
        await eventually(`${pod.metadata.name} has another container`, async () => {
          const pods = await replicasReady(MAC_POOL_MANAGER);
          const now = pods.find(({ metadata }) => metadata.uid === pod.metadata.uid);
          return now !== undefined && containerOf(now).id !== id;
        });
        ends.push({ killedMs, replacedMs: performance.now() });
      }
      const before = answers.length;
      await eventually("VMs are admitted afterwards", () => answers.length >= before + AFTERWARDS);
    });
    console.log(refusals.map(({ reason }) => reason).join("\n"));
    const unexplained = refusals.filter(
      ({ atMs, reason }) =>
        !BROKEN_CALL.test(reason) ||
        !ends.some(({ killedMs, replacedMs }) => killedMs - CALL_LIMIT_MS <= atMs && atMs <= replacedMs),
    );
    expect(unexplained).toEqual([]);
  });

  it("inject every pod's bridge while replicas of the linux-bridge-webhook are deleted", async () => {
    const annotations = { [NETWORKS_ANNOTATION]: "lan" };
    await product.cluster.mustKubectl(
      ["create", "-f", "-"],
      manifest({
        apiVersion: "k8s.cni.cncf.io/v1",
        kind: "NetworkAttachmentDefinition",
        metadata: {
          name: "lan",
          namespace: "default",
          annotations: { [NAD_RESOURCE_NAME_ANNOTATION]: BRIDGE_RESOURCE },
        },
        spec: { config: JSON.stringify({ cniVersion: "1.0.0", name: "lan", type: "bridge", bridge: BRIDGE }) },
      }),
    );
    const bridgeOf = ({ spec }: Pod) => spec?.containers[0]?.resources?.requests?.[BRIDGE_RESOURCE];
    await eventually("the webhook knows the network", async () => {
      const pod = testPod({ name: "first", annotations });
      return bridgeOf(await product.client.create(RESOURCES.pods, pod, { dryRun: true })) === "1";
    });
    await using stream = new AdmissionStream(async (index) => {
      const pod = testPod({ name: `bridged-${index}`, annotations });
      return await product.client.create(RESOURCES.pods, pod, { dryRun: true });
    });
    const running = runPod(product.client, { name: "bridged", annotations });
    const [whole] = await Promise.all([running, deleteReplicas(LINUX_BRIDGE_WEBHOOK)]);
    await stream.stop();
    console.log(`bridged: ${stream.summary()}`);
    expect(stream.refusals).toEqual([]);
    // The webhook's failurePolicy is Ignore: a pod that it missed is admitted without.
    expect(stream.answers.filter((pod) => bridgeOf(pod) !== "1").length).toBe(0);
    expect(bridgeOf(whole)).toBe("1");
    await deletePod(product.client, "bridged");
  });
});
