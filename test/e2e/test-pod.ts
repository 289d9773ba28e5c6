/** Pods of a shell on real nodes, and their making and ending. */
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { eventually } from "../support/eventually.ts";
import { GUEST_IMAGE } from "./images/test-images.ts";

/** Ends at once on SIGTERM, which a plain pid 1 would ignore. */
const IDLE = "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done";
const LIMIT_MS = 90_000;

export interface TestPod {
  readonly name: string;
  readonly namespace?: string;
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** A shell script; does nothing by default. */
  readonly script?: string;
}

export const testPod = ({ name, namespace = "default", node, labels = {}, annotations = {}, script = IDLE }: TestPod) =>
  ({
    metadata: { name, namespace, labels, annotations },
    spec: {
      ...(node === undefined ? {} : { nodeName: node }),
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: [{ name: "guest", image: GUEST_IMAGE, imagePullPolicy: "Never", command: ["/bin/sh", "-c", script] }],
    },
  }) satisfies Pod;

/** Resolves when it runs. */
export async function runPod(client: KubeClient, pod: TestPod): Promise<Pod> {
  const { metadata } = testPod(pod);
  await client.create(RESOURCES.pods, testPod(pod));
  let last = "";
  const running = async (): Promise<Pod | undefined> => {
    const now = await client.get(RESOURCES.pods, metadata);
    last = JSON.stringify(now.status?.containerStatuses?.[0]?.state ?? now.status?.conditions);
    return now.status?.phase === "Running" ? now : undefined;
  };
  return await eventually(`pod ${metadata.name} runs`, running, { limitMs: LIMIT_MS, state: () => last });
}

/** Resolves when the kubelet has let it go. */
export async function deletePod(client: KubeClient, name: string, namespace = "default"): Promise<void> {
  await client.delete(RESOURCES.pods, { name, namespace });
  const gone = async (): Promise<boolean> => {
    const { items } = await client.list(RESOURCES.pods, { namespace });
    return items.every(({ metadata }) => metadata.name !== name);
  };
  await eventually(`pod ${name} is gone`, gone, { limitMs: LIMIT_MS });
}
