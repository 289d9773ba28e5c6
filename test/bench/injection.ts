import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  DEFAULT_NAMESPACE,
  LINUX_BRIDGE_WEBHOOK,
  NAD_NODE_SELECTOR_ANNOTATION,
  NAD_RESOURCE_NAME_ANNOTATION,
  NAMESPACE_NAME_LABEL,
  NETWORKS_ANNOTATION,
  SYSTEM_NAMESPACE,
} from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { type InjectablePod, planInjection } from "../../src/linux-bridge-webhook/injection.ts";
import { InjectorBed, podAsking } from "../linux-bridge-webhook/injector-bed.ts";
import { inFlight } from "../mac-pool/in-flight.ts";
import { eventually } from "../support/eventually.ts";
import { type BenchContext, type BenchRow, limitedRow, row } from "./bench.ts";
import { percentile } from "./mac-pool-calls.ts";

/** Pods of each side, in turn, so that all see the same machine. */
const PODS = 1_500;
const SHORT_PODS = 300;
/** Until the processes run compiled code. */
const WARM_UP = 1_000;
/** Of these at once. */
const CONNECTIONS = 4;
/**
 * What a pod with networks may wait for its injection, and a pod without may have as noise, beyond what any webhook costs: the
 * API server needs more than that to look at a condition, to send a review and to apply a patch.
 */
const MAX_OWN_MS = 0.5;
const MAX_NOISE_MS = 0.05;
const MAX_PROCESSOR_RATIO = 2;
/** Pods that ask for 100,000 networks, made by somebody else meanwhile. */
const ATTACKS_PER_SECOND = 5;
const MAX_ATTACKED = 2;
/** Of /proc/PID/stat. */
const TICK_MS = 10;

const ECHO = "echo";
const BRIDGES = ["br1", "br2"];
const ASKING = { [NETWORKS_ANNOTATION]: "bench/br1,bench/br2" };
const NOT_ASKING = { "example.com/annotation": "without networks" };
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const ENDLESS = {
  [NETWORKS_ANNOTATION]: Array.from({ length: 100_000 }, (_, index) => LETTERS[index % LETTERS.length]).join(","),
};

/**
 * Namespaces: our webhook is called for pods of the first; of the third, one that answers each with the patch of ours, and later
 * one that is called for none.
 */
const SIDES = { ours: "default", bare: SYSTEM_NAMESPACE, echo: DEFAULT_NAMESPACE } as const;
type Side = keyof typeof SIDES;
type Samples = Record<Side, number[]>;

/** What the injection adds to the creation of a pod on a real API server: the same pods with and without its call. */
export async function measureInjection({ short, log }: BenchContext): Promise<BenchRow[]> {
  await using bed = await InjectorBed.start();
  await prepare(bed);
  const echo = await startEcho(bed);
  try {
    const create = async (side: Side, asked: Readonly<Record<string, string>>): Promise<number> => {
      const pod = podAsking(asked);
      const metadata = { ...pod.metadata, namespace: SIDES[side] };
      const startMs = performance.now();
      await bed.admin.create(RESOURCES.pods, { ...pod, metadata }, { dryRun: true });
      return performance.now() - startMs;
    };
    const count = short ? SHORT_PODS : PODS;
    const compare = async (asked: Readonly<Record<string, string>>, sides: readonly Side[]): Promise<Samples> => {
      const samples: Samples = { ours: [], bare: [], echo: [] };
      for (let i = 0; i < count; i++) for (const side of sides) samples[side].push(await create(side, asked));
      return samples;
    };
    log("warming up");
    for (const side of ["bare", "ours", "echo"] as const) {
      await inFlight(CONNECTIONS, WARM_UP, () => create(side, ASKING));
    }
    log("pods with networks");
    const pids = [bed.process.pid, echo.pid ?? 0];
    const beforeMs = pids.map(processorMs);
    const asking = await compare(ASKING, ["bare", "ours", "echo"]);
    const [processor = 0, ofEcho = 0] = pids.map((pid, side) => (processorMs(pid) - (beforeMs[side] ?? 0)) / count);
    log("pods without networks");
    await silenceEcho(bed);
    const notAsking = await compare(NOT_ASKING, ["bare", "ours", "echo"]);
    log("pods with networks, while others ask for 100,000");
    // Refused, because these networks do not exist.
    const attack = () => create("ours", ENDLESS).catch(() => undefined);
    const attacked = await during(attack, () => compare(ASKING, ["bare", "ours"]));
    const added = (samples: Samples, side: Side): number =>
      percentile(samples[side], 0.5) - percentile(samples.bare, 0.5);
    const what = "injection: what it adds to the creation of a pod";
    const [ours, bare] = [added(asking, "ours"), added(asking, "echo")];
    const [oursUncalled, uncalled] = [added(notAsking, "ours"), added(notAsking, "echo")];
    return [
      row(
        `${what} with two networks, p50; peer: a bare webhook that answers with the same patch`,
        "ms",
        ours,
        bare,
        null,
      ),
      limitedRow("injection: its own part of that", "ms", ours - bare, null, MAX_OWN_MS),
      row(`${what} without networks, p50; peer: a webhook that is never called`, "ms", oursUncalled, uncalled, null),
      limitedRow("injection: its own part of that", "ms", oursUncalled - uncalled, null, MAX_NOISE_MS),
      row(
        "injection: processor time of the webhook for a pod; peer: the bare one",
        "ms",
        processor,
        ofEcho,
        MAX_PROCESSOR_RATIO,
      ),
      row(
        `injection: pods of others, p50, while ${ATTACKS_PER_SECOND} a second ask for 100,000 networks; peer: without them`,
        "ms",
        percentile(attacked.ours, 0.5),
        percentile(asking.ours, 0.5),
        MAX_ATTACKED,
      ),
    ];
  } finally {
    echo.disconnect();
  }
}

async function prepare(bed: InjectorBed): Promise<void> {
  await bed.admin.create(RESOURCES.namespaces, { metadata: { name: "bench" } });
  for (const namespace of [SIDES.bare, SIDES.echo]) {
    await bed.admin.create(RESOURCES.serviceAccounts, { metadata: { namespace, name: "default" } });
  }
  for (const bridge of BRIDGES) await bed.createNad(bridge, annotationsOf(bridge), "bench");
  await bed.registerWebhook();
}

const annotationsOf = (bridge: string): Record<string, string> => ({
  [NAD_RESOURCE_NAME_ANNOTATION]: `bridge.network.kubevirt.io/${bridge}`,
  [NAD_NODE_SELECTOR_ANNOTATION]: "example.com/rack=a",
});

/** Of our webhook: the API server looks at them before it calls. */
async function conditionsOfOurs(bed: InjectorBed): Promise<object> {
  const { webhooks } = await bed.admin.get(RESOURCES.mutatingWebhookConfigurations, { name: LINUX_BRIDGE_WEBHOOK });
  return { matchConditions: webhooks?.[0]?.matchConditions };
}

/** From now on the API server calls the bare webhook for nothing, after a look at a condition. */
async function silenceEcho(bed: InjectorBed): Promise<void> {
  const value = [{ name: "never", expression: "false" }];
  const ops = [{ op: "replace" as const, path: "/webhooks/0/matchConditions", value }];
  await bed.admin.patch(RESOURCES.mutatingWebhookConfigurations, { name: ECHO }, { type: "json", ops });
  const pod = podAsking(ASKING);
  const asking = { ...pod, metadata: { ...pod.metadata, namespace: SIDES.echo } };
  await eventually("the bare webhook is not called", async () => {
    const { spec } = await bed.admin.create(RESOURCES.pods, asking, { dryRun: true });
    return spec?.containers[0]?.resources?.requests === undefined;
  });
}

/** A bare Node HTTPS server that answers for the pods of its namespace what ours does. */
async function startEcho(bed: InjectorBed): Promise<ChildProcess> {
  const { authority, directory } = bed.controlPlane;
  const { cert, key } = await authority.issue({ commonName: "echo", addresses: ["127.0.0.1"], usage: ["server"] });
  const files = [join(directory, "echo.crt"), join(directory, "echo.key")] as const;
  await writeFile(files[0], cert);
  await writeFile(files[1], key, { mode: 0o600 });
  const attachments = BRIDGES.map((name) => ({ namespace: "bench", name, count: 1, annotations: annotationsOf(name) }));
  const patch = JSON.stringify(planInjection(podAsking(ASKING) as InjectablePod, attachments).patch);
  const child = fork(join(import.meta.dirname, "mac-pool-server.ts"), ["echo", ...files, patch]);
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  await bed.admin.create(RESOURCES.mutatingWebhookConfigurations, {
    metadata: { name: ECHO },
    webhooks: [
      {
        name: "echo.example.com",
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: btoa(authority.certificate) },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }],
        namespaceSelector: { matchLabels: { [NAMESPACE_NAME_LABEL]: SIDES.echo } },
        ...(await conditionsOfOurs(bed)),
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  } as never);
  return child;
}

/** Does `attack` at a steady rate until `work` is done. */
async function during<T>(attack: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  const done = new AbortController();
  const attacks: Promise<unknown>[] = [];
  const attacking = (async () => {
    while (!done.signal.aborted) {
      attacks.push(attack());
      await sleep(1000 / ATTACKS_PER_SECOND);
    }
    await Promise.all(attacks);
  })();
  const result = await work().finally(() => done.abort());
  await attacking;
  return result;
}

/** User and system time of a process so far. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
