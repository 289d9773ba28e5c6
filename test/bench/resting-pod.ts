/**
 * The first container of a pod of the harness as a process of this machine, with the pod's account, flags and environment, in a
 * control group of its own. It is probed as its pod says.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { IMAGE_ROOT } from "../../src/api/image.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import { issueToken, mountedAccount } from "../mac-pool/account.ts";
import type { OperatorHarness } from "../operator/support/operator-harness.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { MemoryGroup } from "../support/memory-group.ts";
import { ProductProcess } from "../support/product-process.ts";

type Container = NonNullable<Pod["spec"]>["containers"][number];

/** A process of another test may have the port that it has in a cluster. */
const PORTS = ["HEALTH_PORT", "METRICS_PORT", "HTTPS_PORT", "INSPECTION_PORT"];
const MARKER_PORT = "-health-probe-port";
const CNI_BIN_DIR = "CNI_BIN_DIR";

export interface Resting extends AsyncDisposable {
  readonly group: MemoryGroup;
  readonly process: ProductProcess;
}

/** A process in its group. What the caches of the tests would save it is not saved in a pod either. */
export async function startResting(
  name: string,
  options: Omit<Parameters<typeof ProductProcess.start>[0], "product">,
): Promise<Resting> {
  await using parts = new AsyncDisposableStack();
  const group = parts.use(await MemoryGroup.create(name));
  const process = parts.use(
    await ProductProcess.start({
      ...options,
      product: name,
      prefix: [...group.prefix, ...(options.prefix ?? [])],
      env: { ...options.env, NODE_DISABLE_COMPILE_CACHE: "1" },
    }),
  );
  const moved = parts.move();
  return { group, process, [Symbol.asyncDispose]: () => moved[Symbol.asyncDispose]() };
}

/** Resolves when it is ready. `tree`: the image's root as a folder. */
export async function startPod(name: string, pod: Pod, harness: OperatorHarness, tree: string): Promise<Resting> {
  const { metadata, spec } = pod;
  const { namespace = "", uid = "" } = metadata;
  const [container] = spec?.containers ?? [];
  const [, ...command] = container?.command ?? [];
  if (container === undefined || spec?.serviceAccountName === undefined) throw new Error(`${name} has no account`);
  const directory = join(harness.controlPlane.directory, `account-${name}`);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const bound = { apiVersion: "v1", kind: "Pod", name: metadata.name ?? "", uid };
  const token = await issueToken(harness.admin, { name: spec.serviceAccountName, namespace }, bound);
  const account = await mountedAccount(directory, token, namespace, harness.controlPlane);
  const ports = new Map<string, number>();
  for (const variable of PORTS) ports.set(variable, await freePort());
  const health = ports.get("HEALTH_PORT") ?? 0;
  const cniBinDir = join(directory, "cni-bin");
  await mkdir(cniBinDir, { recursive: true });
  const resting = await startResting(name, {
    program: (command.at(-1) ?? "").replace(IMAGE_ROOT, tree),
    nodeOptions: command.slice(0, -1),
    args: argumentsOf(pod, container, health),
    prefix: account.argv,
    env: {
      ...environment(pod, container),
      ...account.env,
      ...Object.fromEntries([...ports].map(([variable, port]) => [variable, String(port)])),
      [CNI_BIN_DIR]: cniBinDir,
    },
  });
  const ready = `http://127.0.0.1:${health}/readyz`;
  await eventually(`${name} to be ready`, async () => (await fetch(ready)).ok, { state: () => resting.process.log });
  const stopProbes = probe(container, health);
  const end = async (): Promise<void> => {
    stopProbes();
    await resting[Symbol.asyncDispose]();
  };
  return { ...resting, [Symbol.asyncDispose]: end };
}

function environment(pod: Pod, { env = [] }: Container): Record<string, string> {
  const fields: Readonly<Record<string, string | undefined>> = {
    "metadata.name": pod.metadata.name,
    "metadata.namespace": pod.metadata.namespace,
    "spec.nodeName": pod.spec?.nodeName,
  };
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => [name, value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ""] ?? ""]),
  );
}

/** With variables as kubelet fills them in. The last value of a flag counts. */
function argumentsOf(pod: Pod, container: Container, healthPort: number): string[] {
  const values = environment(pod, container);
  const args = (container.args ?? []).map((text) =>
    text.replaceAll(/\$\(([A-Z_]+)\)/g, (_, variable: string) => values[variable] ?? ""),
  );
  return args.includes(MARKER_PORT) ? [...args, MARKER_PORT, String(healthPort)] : args;
}

/** As often as the kubelet does. */
function probe({ readinessProbe, livenessProbe }: Container, port: number): () => void {
  const timers = [readinessProbe, livenessProbe].flatMap((one) => {
    if (one?.httpGet === undefined) return [];
    const url = `http://127.0.0.1:${port}${one.httpGet.path}`;
    const ask = () =>
      void fetch(url, { headers: { connection: "close" } }).then(
        (answer) => answer.text(),
        () => {},
      );
    return [setInterval(ask, (one.periodSeconds ?? 10) * 1000)];
  });
  return () => timers.forEach(clearInterval);
}
