/** Has every node of the cluster enforce the NetworkPolicies, as a cluster's network does. */

import type { LabelSelector } from "kubernetes-types/meta/v1.js";
import { Registry } from "prom-client";
import type { Namespace, NetworkPolicy, Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import { mustRun } from "../command.ts";
import { type NodePlan, nodeNamespace } from "../network-plan.ts";
import { plainEnv } from "../requirements.ts";

/**
 * NetworkPolicies as rules of nftables for one node. Pods hang on routed links, so whatever they send to others, and get from
 * others than their node, is forwarded. A node always reaches its own pods. Pure.
 */

interface ClusterState {
  readonly pods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
  readonly policies: readonly NetworkPolicy[];
}

type Spec = NonNullable<NetworkPolicy["spec"]>;
type Rule = Pick<NonNullable<Spec["ingress"]>[number], "from" | "ports"> &
  Pick<NonNullable<Spec["egress"]>[number], "to">;
type Peer = NonNullable<Rule["from"]>[number];
type Port = NonNullable<Rule["ports"]>[number];
type Labels = Readonly<Record<string, string>>;
type Direction = "egress" | "ingress";

const TABLE = "policies";
/** Connections that were refused: source, destination, protocol, port. */
const DENIED = "denied";
const ENDED = new Set(["Succeeded", "Failed"]);
const NOBODY = "{ 255.255.255.255 }";

/** For `nft -f`. It may run again at any time: what was denied stays recorded. */
function ruleset(node: string, state: ClusterState): string {
  const local = state.pods.filter(({ spec }) => spec?.nodeName === node).filter(hasAddress);
  const chains = (["egress", "ingress"] as const).flatMap((direction, priority) => [
    `add chain ip ${TABLE} ${direction} { type filter hook forward priority ${priority}; policy accept; }`,
    `flush chain ip ${TABLE} ${direction}`,
    `add rule ip ${TABLE} ${direction} ct state established,related accept`,
    ...local.flatMap((pod) => podRules(pod, direction, state)),
  ]);
  const fields = "type ipv4_addr . ipv4_addr . inet_proto . inet_service; flags dynamic; size 65535;";
  return [`add table ip ${TABLE}`, `add set ip ${TABLE} ${DENIED} { ${fields} }`, ...chains, ""].join("\n");
}

function podRules(pod: Pod, direction: Direction, state: ClusterState): string[] {
  const selecting = state.policies.filter((policy) => selects(policy, pod, direction));
  if (selecting.length === 0) return [];
  const own = `ip ${direction === "egress" ? "saddr" : "daddr"} ${addressOf(pod)}`;
  const accepted = selecting.flatMap(({ metadata, spec }) => {
    const rules: readonly Rule[] = (direction === "egress" ? spec?.egress : spec?.ingress) ?? [];
    return rules.flatMap((rule) => matches(rule, pod, direction, metadata.namespace ?? "", state));
  });
  const record = `update @${DENIED} { ip saddr . ip daddr . ip protocol . th dport }`;
  return [
    ...accepted.map((match) => `add rule ip ${TABLE} ${direction} ${own} ${match} accept`),
    `add rule ip ${TABLE} ${direction} ${own} meta l4proto { tcp, udp } ${record} drop`,
  ];
}

function selects({ metadata, spec }: NetworkPolicy, pod: Pod, direction: Direction): boolean {
  const types = spec?.policyTypes ?? ["Ingress", ...(spec?.egress === undefined ? [] : ["Egress"])];
  return (
    metadata.namespace === pod.metadata.namespace &&
    types.some((type) => type.toLowerCase() === direction) &&
    isSelected(spec?.podSelector, pod.metadata.labels)
  );
}

/** One match for each pair of peers and ports. */
function matches(rule: Rule, pod: Pod, direction: Direction, namespace: string, state: ClusterState): string[] {
  const peers = (direction === "egress" ? rule.to : rule.from) ?? [];
  const other = direction === "egress" ? "daddr" : "saddr";
  const sources = peers.length === 0 ? [""] : peers.map((peer) => `${peerMatch(peer, other, namespace, state)} `);
  const ports = rule.ports?.length ? rule.ports.map((port) => portMatch(port, pod, direction)) : [""];
  return sources.flatMap((source) => ports.map((port) => `${source}${port}`));
}

function peerMatch(peer: Peer, other: string, namespace: string, state: ClusterState): string {
  if (peer.ipBlock !== undefined) {
    const { cidr, except = [] } = peer.ipBlock;
    return `ip ${other} ${cidr}${except.length === 0 ? "" : ` ip ${other} != { ${except.join(", ")} }`}`;
  }
  const { namespaceSelector, podSelector } = peer;
  const isMeant = ({ metadata }: Namespace): boolean =>
    namespaceSelector === undefined ? metadata.name === namespace : isSelected(namespaceSelector, metadata.labels);
  const namespaces = new Set(state.namespaces.filter(isMeant).map(({ metadata }) => metadata.name));
  const pods = state.pods.filter(
    ({ metadata }) => namespaces.has(metadata.namespace) && isSelected(podSelector, metadata.labels),
  );
  const addresses = pods.filter(hasAddress).map(addressOf);
  return `ip ${other} ${addresses.length === 0 ? NOBODY : `{ ${addresses.join(", ")} }`}`;
}

function portMatch({ port, endPort, protocol = "TCP" }: Port, pod: Pod, direction: Direction): string {
  const transport = protocol.toLowerCase();
  if (port === undefined) return `meta l4proto ${transport}`;
  if (typeof port === "string" && direction === "egress")
    throw new Error(`port ${port}: names are for ingress only here`);
  const containers = pod.spec?.containers.flatMap(({ ports = [] }) => ports) ?? [];
  const number = typeof port === "number" ? port : containers.find(({ name }) => name === port)?.containerPort;
  return `${transport} dport ${number ?? 0}${endPort === undefined ? "" : `-${endPort}`}`;
}

function isSelected({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}, labels: Labels = {}): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      const isListed = value !== undefined && values.includes(value);
      return operator === "In" ? isListed : !isListed;
    })
  );
}

/** Not that of its node, and not one that may be another pod's by now. */
function hasAddress({ spec, status }: Pod): boolean {
  return spec?.hostNetwork !== true && status?.podIP !== undefined && !ENDED.has(status.phase ?? "");
}

const addressOf = ({ status }: Pod): string => status?.podIP ?? "";

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
