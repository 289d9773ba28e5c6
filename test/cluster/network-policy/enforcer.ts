/** Has every node of the cluster enforce the NetworkPolicies, as a cluster's network does. */
import { Registry } from "prom-client";
import type { Namespace, NetworkPolicy, Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import { mustRun } from "../command.ts";
import { type NodePlan, nodeNamespace } from "../network-plan.ts";
import { plainEnv } from "../requirements.ts";
import { DENIED, ruleset, TABLE } from "./ruleset.ts";

/** A connection that a policy refused. Addresses of pods are `namespace/name`. */
export interface DeniedConnection {
  readonly from: string;
  readonly to: string;
  readonly port: string;
}

export interface EnforcerOptions {
  readonly client: KubeClient;
  readonly nodes: readonly NodePlan[];
  readonly onCrash: (error: Error) => void;
}

export class Enforcer {
  readonly #options: EnforcerOptions;
  readonly #pods: Informer<Pod>;
  readonly #namespaces: Informer<Namespace>;
  readonly #policies: Informer<NetworkPolicy>;
  /** Who had an address last. */
  readonly #names = new Map<string, string>();
  #isDue = false;
  #writing: Promise<void> | undefined;

  constructor(options: EnforcerOptions) {
    this.#options = options;
    this.#pods = this.#follow(RESOURCES.pods);
    this.#namespaces = this.#follow(RESOURCES.namespaces);
    this.#policies = this.#follow(RESOURCES.networkPolicies);
  }

  async start(signal: AbortSignal): Promise<void> {
    const informers = [this.#pods, this.#namespaces, this.#policies];
    for (const informer of informers) informer.start(signal);
    await Promise.all(informers.map((informer) => informer.whenSynced(signal)));
    this.#changed();
  }

  async denied(): Promise<DeniedConnection[]> {
    const lists = await Promise.all(this.#options.nodes.map((node) => this.#deniedOn(node)));
    return lists.flat();
  }

  #follow<T extends KubeObject>(resource: Resource<T>): Informer<T> {
    const informer = new Informer<T>({ client: this.#options.client, resource, metrics: new Registry() });
    const changed = (): void => this.#changed();
    informer.on({ add: changed, update: changed, delete: changed });
    return informer;
  }

  #changed(): void {
    this.#isDue = true;
    this.#writing ??= this.#write()
      .catch((error: Error) => this.#options.onCrash(error))
      .finally(() => {
        this.#writing = undefined;
      });
  }

  async #write(): Promise<void> {
    while (this.#isDue && this.#policies.hasSynced && this.#pods.hasSynced && this.#namespaces.hasSynced) {
      this.#isDue = false;
      const pods = this.#pods.list();
      for (const { metadata, status } of pods) {
        if (status?.podIP !== undefined) this.#names.set(status.podIP, `${metadata.namespace}/${metadata.name}`);
      }
      const state = { pods, namespaces: this.#namespaces.list(), policies: this.#policies.list() };
      for (const node of this.#options.nodes) {
        await mustRun(this.#nft(node, "-f", "-"), { env: plainEnv(), stdin: ruleset(node.name, state) });
      }
    }
  }

  async #deniedOn(node: NodePlan): Promise<DeniedConnection[]> {
    const stdout = await mustRun(this.#nft(node, "-j", "list", "set", "ip", TABLE, DENIED), { env: plainEnv() });
    const { nftables } = JSON.parse(stdout) as {
      nftables: readonly { readonly set?: { readonly elem?: unknown[] } }[];
    };
    const found = nftables.flatMap(({ set }) => set?.elem ?? []) as { readonly concat: readonly (string | number)[] }[];
    return found.map(({ concat: [from, to, protocol, port] }) => ({
      from: this.#names.get(String(from)) ?? String(from),
      to: this.#names.get(String(to)) ?? String(to),
      port: `${protocol} ${port}`,
    }));
  }

  #nft(node: NodePlan, ...args: readonly string[]): string[] {
    return ["nsenter", `--net=/run/netns/${nodeNamespace(node)}`, "nft", ...args];
  }
}
