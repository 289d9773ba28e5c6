/** A bridge marker as its own process, with a node's rights on a real API server and a network namespace as its node. */
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { NODE_MACS_CRD } from "../../src/api/crds.ts";
import { BRIDGE_MARKER } from "../../src/api/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from "../cluster/control-plane/control-plane.ts";
import { type Account, issueToken, mountedAccount } from "../mac-pool/account.ts";
import { createAny } from "../support/create-any.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { MetricsReader } from "../support/metrics-reader.ts";
import { ConfigKind } from "../support/network-addons-config.ts";
import { cpuMsOf } from "../support/process-usage.ts";
import { ProductProcess, type ProductProcessOptions } from "../support/product-process.ts";
import { bindClusterRole, user } from "../support/rights.ts";
import { NetworkNamespace } from "./network-namespace.ts";

export const WITHIN = { timeout: 60_000, interval: 50 };
const MONITOR = join(
  import.meta.dirname,
  "../../dist/cni",
  process.arch === "x64" ? "amd64" : process.arch,
  "link-monitor",
);
export const USER = BRIDGE_MARKER;
export const ROLE = "bridge-marker-cr";
export const key = (bridge: string): string => `bridge.network.kubevirt.io/${bridge}`;
/** What kubelet and device plugins have published. */
const OTHERS = { cpu: "4", "example.com/gpu": "2" };

/** The marker's ClusterRole, as the operator applies it. */
export function markerRole(): KubeObject {
  const role = renderEverything(DEFAULT_SETTINGS).find(
    ({ kind, metadata }) => kind === "ClusterRole" && metadata.name === ROLE,
  );
  if (role === undefined) throw new Error(`no ClusterRole ${ROLE}`);
  return role;
}

/** One control plane for many markers. */
export class MarkerHarness implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly admin: KubeClient;
  readonly config: ConfigKind;
  readonly #kubeconfig: string;
  readonly #reader: MetricsReader;
  #count = 0;

  private constructor(controlPlane: ControlPlane, admin: KubeClient, kubeconfig: string, reader: MetricsReader) {
    this.controlPlane = controlPlane;
    this.admin = admin;
    this.config = new ConfigKind(admin);
    this.#kubeconfig = kubeconfig;
    this.#reader = reader;
  }

  static async start(options: ControlPlaneOptions = {}): Promise<MarkerHarness> {
    const controlPlane = await startControlPlane(options);
    const admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    await createAny(admin, markerRole());
    await createAny(admin, NODE_MACS_CRD);
    await bindClusterRole(admin, ROLE, user(USER));
    const kubeconfig = join(controlPlane.directory, "marker.kubeconfig");
    await writeFile(kubeconfig, await controlPlane.userKubeconfig(USER));
    const harness = new MarkerHarness(controlPlane, admin, kubeconfig, await MetricsReader.create(admin));
    await harness.config.install();
    return harness;
  }

  /** A service account with the marker's rights, for a process that finds its token where pods do. */
  async account(): Promise<Account> {
    const ref = { namespace: "default", name: USER };
    await this.admin.create(RESOURCES.serviceAccounts, { metadata: ref });
    const ops = [{ op: "add", path: "/subjects/-", value: { kind: "ServiceAccount", ...ref } }] as const;
    await this.admin.patch(RESOURCES.clusterRoleBindings, { name: USER }, { type: "json", ops });
    const directory = join(this.controlPlane.directory, "service-account");
    await mkdir(directory);
    const token = await issueToken(this.admin, ref);
    const { argv, env } = await mountedAccount(directory, token, ref.namespace, this.controlPlane);
    // In a user namespace of its own, root could not enter the node's network.
    return { argv: process.getuid?.() === 0 ? argv.filter((word) => word !== "--map-root-user") : argv, env };
  }

  /** A node with the bridge `br1`, and its marker. */
  async node(options: MarkerOptions = {}): Promise<MarkedNode> {
    const node = new MarkedNode({
      admin: this.admin,
      reader: this.#reader,
      kubeconfig: this.#kubeconfig,
      name: `node-${this.#count++}`,
      namespace: await NetworkNamespace.create(),
    });
    await node.register();
    await node.namespace.run("ip", "link", "add", "br1", "type", "bridge");
    await node.start(options);
    return node;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin[Symbol.asyncDispose]();
    await this.controlPlane[Symbol.asyncDispose]();
  }
}

export interface MarkerOptions extends Pick<ProductProcessOptions, "nodeOptions" | "program" | "restarts"> {
  /** In place of the harness's kubeconfig. */
  readonly account?: Account;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProbeAnswer {
  readonly status: number;
  readonly body: string;
}

interface NodeParts {
  readonly admin: KubeClient;
  readonly reader: MetricsReader;
  readonly kubeconfig: string;
  readonly name: string;
  readonly namespace: NetworkNamespace;
}

export class MarkedNode implements AsyncDisposable {
  readonly name: string;
  readonly namespace: NetworkNamespace;
  readonly #parts: NodeParts;
  #marker: ProductProcess | undefined;
  #healthPort = 0;
  #metricsPort = 0;

  constructor(parts: NodeParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.namespace = parts.namespace;
  }

  get marker(): ProductProcess {
    if (this.#marker === undefined) throw new Error("the marker was not started");
    return this.#marker;
  }

  get healthPort(): number {
    return this.#healthPort;
  }

  /** As kubelet does it when it has none of this name. */
  async register(): Promise<void> {
    await this.#parts.admin.create(RESOURCES.nodes, { metadata: { name: this.name } });
    await this.setCapacity(OTHERS);
  }

  async unregister(): Promise<void> {
    await this.#parts.admin.delete(RESOURCES.nodes, { name: this.name });
  }

  async start({ account, args = [], env = {}, ...options }: MarkerOptions = {}): Promise<void> {
    [this.#healthPort, this.#metricsPort] = [await freePort(), await freePort()];
    this.#marker = await ProductProcess.start({
      ...options,
      product: "bridge-marker",
      prefix: account?.argv ?? [],
      args: ["-node-name", this.name, "-health-probe-port", String(this.#healthPort), ...args],
      env: {
        ...(account?.env ?? { KUBECONFIG: this.#parts.kubeconfig }),
        LINK_MONITOR: await this.namespace.wrapper(MONITOR),
        METRICS_PORT: String(this.#metricsPort),
        ...env,
      },
    });
  }

  /** At once, in the middle of whatever it does. */
  async kill(): Promise<void> {
    await this.#marker?.[Symbol.asyncDispose]();
    this.#marker = undefined;
  }

  /** Processes that the marker started. */
  children(): number[] {
    const { pid } = this.marker;
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  }

  /** Of marker and link monitor. */
  get pids(): number[] {
    return [this.marker.pid, ...this.children()];
  }

  /** CPU time of both so far. */
  get cpuMs(): number {
    return this.pids.map(cpuMsOf).reduce((sum, one) => sum + one, 0);
  }

  async setCapacity(capacity: Readonly<Record<string, string | null>>): Promise<void> {
    const patch = { type: "merge", body: { status: { capacity } } } as const;
    await this.#parts.admin.patch(RESOURCES.nodes, { name: this.name }, patch, { subresource: "status" });
  }

  /** Resolves when the node has these bridges, each with its amount, and everything that is not ours as it was. */
  async publishes(...bridges: readonly string[]): Promise<void> {
    const expected = { ...OTHERS, ...Object.fromEntries(bridges.map((bridge) => [key(bridge), "1k"])) };
    let last: unknown;
    const isRight = async (): Promise<boolean> => {
      last = (await this.#parts.admin.get(RESOURCES.nodes, { name: this.name })).status?.capacity;
      return isDeepStrictEqual({ ...(last as object) }, expected);
    };
    await eventually(
      `${JSON.stringify(expected)} on ${this.name}`,
      isRight,
      this.#limit(() => JSON.stringify(last)),
    );
  }

  /** Status and text of a probe. Rejects while nobody listens. */
  async probe(path: "healthz" | "readyz" | "metrics"): Promise<ProbeAnswer> {
    const answer = await fetch(`http://127.0.0.1:${this.#healthPort}/${path}`);
    return { status: answer.status, body: await answer.text() };
  }

  async isReady(): Promise<void> {
    await this.#answers("readyz", 200);
  }

  /** Resolves when it is not ready for a reason that has these words. */
  async isUnready(...words: readonly string[]): Promise<void> {
    await this.#answers("readyz", 503, ...words);
  }

  async isAlive(): Promise<void> {
    await this.#answers("healthz", 200);
  }

  /** Resolves when kubelet would restart it, for a reason that has these words. */
  async isDead(...words: readonly string[]): Promise<void> {
    await this.#answers("healthz", 503, ...words);
  }

  metrics(): Promise<string> {
    return this.#parts.reader.read(this.#metricsPort);
  }

  /** The value of one line of the metrics. */
  async metric(line: string): Promise<number> {
    const found = (await this.metrics()).split("\n").find((one) => one.startsWith(`${line} `));
    if (found === undefined) throw new Error(`no metric ${line}`);
    return Number(found.slice(line.length + 1));
  }

  /** Messages that the marker logged at a level, with these words. */
  logged(level: string, words: string): string[] {
    const entries = this.marker.log.split("\n").filter((line) => line.startsWith("{"));
    return entries
      .map((line) => JSON.parse(line) as { level: string; msg: string })
      .flatMap((entry) => (entry.level === level && entry.msg.includes(words) ? [entry.msg] : []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.namespace[Symbol.asyncDispose]();
  }

  async #answers(path: "healthz" | "readyz", status: number, ...words: readonly string[]): Promise<void> {
    let last = "";
    const asked = async (): Promise<boolean> => {
      const answer = await this.probe(path);
      last = answer.body;
      return answer.status === status && words.every((word) => last.includes(word));
    };
    await eventually(
      `${status} of ${path}: ${words.join(", ")}`,
      asked,
      this.#limit(() => last),
    );
  }

  #limit(state: () => string) {
    return { limitMs: WITHIN.timeout, state };
  }
}
