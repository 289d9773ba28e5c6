/** A bridge marker as the image has it, for measurements: its bundle under the flags of its DaemonSet. */
import { join } from "node:path";
import { writeAppTree } from "../../deploy/image/app-tree.ts";
import { entryPoint, IMAGE_ENV } from "../../src/api/image.ts";
import { BRIDGE_MARKER } from "../../src/api/names.ts";
import type { DaemonSet } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { key, type MarkedNode, MarkerHarness, USER } from "../bridge-marker/marker-harness.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import { AuditLog } from "../support/audit-log.ts";
import { megabytesOf } from "../support/process-usage.ts";

export class MarkerBenchHarness implements AsyncDisposable {
  readonly harness: MarkerHarness;
  readonly node: MarkedNode;
  readonly #audit: AuditLog;
  #requests = 0;

  private constructor(harness: MarkerHarness, node: MarkedNode, audit: AuditLog) {
    this.harness = harness;
    this.node = node;
    this.#audit = audit;
  }

  static async start(log: (line: string) => void): Promise<MarkerBenchHarness> {
    const tree = await writeAppTree(log);
    const directory = await makeRunDirectory();
    const audit = await AuditLog.in(directory, { users: [`system:serviceaccount:default:${USER}`] });
    const { apiServerArguments } = audit;
    await using started = new AsyncDisposableStack();
    const harness = started.use(await MarkerHarness.start({ apiServerArguments }));
    const program = join(tree, entryPoint("bridge-marker"));
    const node = started.use(
      await harness.node({ nodeOptions: nodeFlags(), env: IMAGE_ENV, program, account: await harness.account() }),
    );
    await node.publishes("br1");
    started.move();
    return new MarkerBenchHarness(harness, node, audit);
  }

  /** Resolves when the API server shows the bridge on the node. */
  async shows(bridge: string): Promise<void> {
    for (;;) {
      const { status } = await this.harness.admin.get(RESOURCES.nodes, { name: this.node.name });
      if (status?.capacity?.[key(bridge)] !== undefined) return;
    }
  }

  /** Requests of the marker that have ended so far. */
  async requests(): Promise<number> {
    this.#requests += (await this.#audit.next()).length;
    return this.#requests;
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
    await this.harness[Symbol.asyncDispose]();
  }
}

/** What stands between node and the program in the DaemonSet's command. */
function nodeFlags(): readonly string[] {
  const daemonSet = renderEverything(DEFAULT_SETTINGS).find(
    ({ kind, metadata }) => kind === "DaemonSet" && metadata.name === BRIDGE_MARKER,
  ) as DaemonSet | undefined;
  return daemonSet?.spec?.template.spec?.containers[0]?.command?.slice(1, -1) ?? [];
}
