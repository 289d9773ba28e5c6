/** A bridge marker as the image has it, for measurements: its bundle under the flags of its DaemonSet. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeAppTree } from "../../deploy/image/app-tree.ts";
import { entryPoint, IMAGE_ENV } from "../../src/api/image.ts";
import { BRIDGE_MARKER } from "../../src/api/names.ts";
import type { DaemonSet } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { key, type MarkedNode, MarkerBed, USER } from "../bridge-marker/marker-bed.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import { megabytesOf } from "../support/process-usage.ts";

const POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata", users: [`system:serviceaccount:default:${USER}`] }, { level: "None" }],
};

export class MarkerBenchBed implements AsyncDisposable {
  readonly bed: MarkerBed;
  readonly node: MarkedNode;
  readonly #auditLog: string;

  private constructor(bed: MarkerBed, node: MarkedNode, auditLog: string) {
    this.bed = bed;
    this.node = node;
    this.#auditLog = auditLog;
  }

  static async start(log: (line: string) => void): Promise<MarkerBenchBed> {
    const tree = await writeAppTree(log);
    const directory = await makeRunDirectory();
    const [policy, auditLog] = [join(directory, "policy.json"), join(directory, "audit.log")];
    await writeFile(policy, JSON.stringify(POLICY));
    const apiServerArguments = [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`];
    await using started = new AsyncDisposableStack();
    const bed = started.use(await MarkerBed.start({ apiServerArguments }));
    const program = join(tree, entryPoint("bridge-marker"));
    const node = started.use(
      await bed.node({ nodeOptions: nodeFlags(), env: IMAGE_ENV, program, account: await bed.account() }),
    );
    await node.publishes("br1");
    started.move();
    return new MarkerBenchBed(bed, node, auditLog);
  }

  /** Resolves when the API server shows the bridge on the node. */
  async shows(bridge: string): Promise<void> {
    for (;;) {
      const { status } = await this.bed.admin.get(RESOURCES.nodes, { name: this.node.name });
      if (status?.capacity?.[key(bridge)] !== undefined) return;
    }
  }

  /** Requests of the marker that have ended so far. */
  get requests(): number {
    return readFileSync(this.#auditLog, "utf8").split("\n").length - 1;
  }

  /** Of marker and link monitor so far. */
  get cpuMs(): number {
    return this.node.cpuMs;
  }

  /** Of marker and link monitor. */
  get residentMb(): number {
    return this.node.pids.map((pid) => megabytesOf(pid)).reduce((sum, one) => sum + one, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
    await this.bed[Symbol.asyncDispose]();
  }
}

/** What stands between node and the program in the DaemonSet's command. */
function nodeFlags(): readonly string[] {
  const daemonSet = renderEverything(DEFAULT_SETTINGS).find(
    ({ kind, metadata }) => kind === "DaemonSet" && metadata.name === BRIDGE_MARKER,
  ) as DaemonSet | undefined;
  return daemonSet?.spec?.template.spec?.containers[0]?.command?.slice(1, -1) ?? [];
}
