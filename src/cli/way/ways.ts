import type { NadRef } from "../../api/claim-network.ts";
import { parseMac } from "../../api/mac.ts";
import { isNamesake } from "../../api/mac-claim.ts";
import { NETWORKS_ANNOTATION } from "../../api/names.ts";
import type { Way } from "../../api/way.ts";
import { isForbidden } from "../../kube/client/api-error.ts";
import type { BridgeView, CollisionView, ListView } from "../../mac-pool/inspection/rest/views.ts";
import type { KnownHistory, OwnerRef } from "../backends/pool-backend.ts";
import { isUnknownToPool } from "../backends/rest-refusal.ts";
import { describeOwner, hiddenText } from "../claim-text.ts";
import type { CommandInput } from "../command.ts";
import { CliError } from "../faults.ts";
import type { Network } from "../networks.ts";
import { FactReader, notVisible, type RunningObjects } from "./fact-reader.ts";
import type { Machine, Read, WayFacts, WayInterface } from "./facts.ts";
import {
  type AskedInterface,
  interfacesOfGuest,
  interfacesOfHistory,
  interfacesOfPod,
  networksFault,
} from "./interfaces.ts";
import { attachedMac } from "./pod-steps.ts";
import { quoted, wrong } from "./step.ts";
import { wayOf } from "./way.ts";

/** No pool serves an object with more interfaces. */
const MAX_WAYS = 128;

const NO_NETWORK: Read<Network> = { value: undefined };

export const CLAIMS_HIDDEN = notVisible("list on macclaims");

/** Reads what the ways of one object need, and tells them. */
export class Ways {
  readonly #input: CommandInput;
  readonly #reader: FactReader;
  readonly #bridges = new Map<string, Promise<readonly BridgeView[]>>();

  private constructor(input: CommandInput, reader: FactReader) {
    this.#input = input;
    this.#reader = reader;
  }

  static async open(input: CommandInput): Promise<Ways> {
    const { client } = await input.open();
    return new Ways(input, new FactReader(client, input.line.options.requestTimeoutMs));
  }

  objects(owner: OwnerRef, podName?: string): Promise<RunningObjects> {
    return this.#reader.objects(owner, podName);
  }

  /** Of each interface; none where the object does not exist. */
  async of(
    owner: OwnerRef,
    objects: RunningObjects,
    history: Read<KnownHistory>,
    knowsRunning: boolean,
  ): Promise<readonly Way[]> {
    const unreadable = wayOfUnreadable(owner, objects);
    const asked = interfacesOf(owner, objects, history).slice(0, MAX_WAYS - unreadable.length);
    if (asked.length === 0) return unreadable;
    const [nodes, reports, networks, sandboxErrors, collisions, read] = await Promise.all([
      this.#reader.nodes(),
      this.#reader.reports(),
      this.#reader.networks(),
      this.#reader.sandboxErrors(objects.pod),
      readOfPool(this.#input.ask((backend) => backend.collisions(owner.namespace))),
      this.#withNetworks(asked),
    ]);
    const seesAll = [nodes, reports, networks].every((one) => "value" in one);
    const nics = await Promise.all(
      read.map(async (nic) => ({
        ...nic,
        ...(seesAll && "value" in nic.network ? {} : await this.#told(nic)),
        taken: await this.#takenBy(macInDispute(nic, objects, history), owner),
      })),
    );
    const facts: WayFacts = {
      ...{ owner, history, ...objects, nodes, reports, networks, sandboxErrors, knowsRunning },
      ...collisionsIn(collisions),
    };
    return [...unreadable, ...nics.map((nic) => ({ interface: quoted(nic.name), steps: wayOf(facts, nic) }))];
  }

  /** Reads each network once. */
  #withNetworks(asked: readonly AskedInterface[]): Promise<WayInterface[]> {
    const read = new Map<string, Promise<Read<Network>>>();
    const networkOf = (nad: NadRef): Promise<Read<Network>> => {
      const key = `${nad.namespace}/${nad.name}`;
      const known = read.get(key) ?? this.#reader.network(nad);
      read.set(key, known);
      return known;
    };
    return Promise.all(
      asked.map(async (nic) => ({ ...nic, network: nic.nad === undefined ? NO_NETWORK : await networkOf(nic.nad) })),
    );
  }

  /** What the service tells of a network; nothing where it tells this user nothing of it. */
  async #told({ nad, network }: WayInterface): Promise<Partial<Pick<WayInterface, "network" | "told" | "toldBridge">>> {
    if (nad === undefined) return {};
    try {
      const told = await this.#input.ask((backend) => backend.network(nad.namespace, nad.name));
      const bridges = await readOfPool(this.#bridgesOf(nad.namespace));
      const known = "value" in bridges ? bridges.value : undefined;
      return { told, toldBridge: known?.find(({ name }) => name === told.bridge) };
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return "unknown" in network && isUnknownToPool(error) ? { network: NO_NETWORK } : {};
    }
  }

  /** Asked once for each namespace. */
  #bridgesOf(namespace: string): Promise<readonly BridgeView[]> {
    const known = this.#bridges.get(namespace) ?? this.#input.ask((backend) => backend.bridges(namespace));
    this.#bridges.set(namespace, known);
    return known;
  }

  /** Other objects than this one that have the address, and how they came to it, in words. */
  async #takenBy(text: string | undefined, owner: OwnerRef): Promise<string | undefined> {
    const mac = parseMac(text ?? "");
    if (mac === undefined) return undefined;
    const { namespace } = owner;
    const read = await readOfPool(
      this.#input.ask(async (backend) => {
        const claim = await backend.claim(mac, namespace);
        if (claim !== undefined) return claim;
        const { holders: owners, elsewhere } = await backend.unclaimed(mac, namespace);
        return { owners, elsewhere, origin: undefined };
      }),
    );
    if ("unknown" in read || read.value === undefined) return undefined;
    const { owners, elsewhere, origin } = read.value;
    const others = owners.filter((one) => !isNamesake(one, owner));
    if (others.length + elsewhere === 0) return undefined;
    const origins = new Set(elsewhere > 0 ? [] : others.map((one) => one.origin ?? origin));
    const [one] = origins.size === 1 ? origins : [];
    return `which ${HAVING[one ?? "unknown"]} ${[...others.map(describeOwner), ...hiddenText(elsewhere)].join(" and ")}`;
  }
}

function collisionsIn(read: Read<ListView<CollisionView>>): Pick<WayFacts, "collisions" | "moreCollisions"> {
  if ("unknown" in read) return { collisions: read };
  const { items = [], total = 0 } = read.value ?? {};
  return { collisions: { value: items }, moreCollisions: total - items.length };
}

/** By the origin of a claim; `unknown` where there is none, or several. */
const HAVING = {
  automatic: "the pool gave to",
  explicit: "the pool gave to",
  observed: "the pool did not give out, but found on",
  unknown: "is held by",
} as const;

/** An address that the interface has, and for which the pool tells no claim of the object. */
function macInDispute(nic: WayInterface, { pod }: RunningObjects, history: Read<KnownHistory>): string | undefined {
  if ("unknown" in history) return undefined;
  const isOwn = history.value?.interfaces.some(({ claim, mac }) => claim !== undefined && mac === nic.mac);
  if (isOwn) return undefined;
  return nic.mac ?? ("value" in pod ? attachedMac(pod.value, nic) : undefined);
}

/** What the pool answers, or why the user does not know it. */
async function readOfPool<T>(answer: Promise<T>): Promise<Read<T>> {
  try {
    return { value: await answer };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { unknown: isForbidden(error.cause) ? CLAIMS_HIDDEN : `not known: ${quoted(error.message)}` };
  }
}

/** As the object itself has them, with the addresses that the pool knows where it names none. */
function interfacesOf(owner: OwnerRef, objects: RunningObjects, history: Read<KnownHistory>): AskedInterface[] {
  const known = "value" in history && history.value !== undefined ? interfacesOfHistory(history.value) : [];
  const itself = objectItself(owner, objects);
  if (itself === undefined || "unknown" in itself) return known;
  if (itself.value === undefined) return [];
  const own = interfacesInObject(owner, objects);
  return own.length === 0 ? known : own.map((nic) => ({ ...nic, mac: nic.mac ?? macOf(nic.name, known) }));
}

/** Where multus can't read which networks the pod asks for: it attaches none. */
function wayOfUnreadable({ kind, namespace, name }: OwnerRef, { pod }: RunningObjects): readonly Way[] {
  const fault = kind === "Pod" && "value" in pod && pod.value !== undefined ? networksFault(pod.value) : undefined;
  if (fault === undefined) return [];
  const text = `annotation ${NETWORKS_ANNOTATION} of pod ${namespace}/${name} can't be read, so the pod gets no network by it: ${fault}`;
  return [{ interface: NETWORKS_ANNOTATION, steps: [wrong("network", quoted(text), WRITE_NETWORKS)] }];
}

const WRITE_NETWORKS =
  'Write names, as blue or lab/blue@net1, with commas between them, or a JSON list, as [{"name": "blue"}], and create the pod again.';

/** Whether the user sees that the object exists. */
export function isThere(owner: OwnerRef, objects: RunningObjects): boolean {
  const itself = objectItself(owner, objects);
  return itself !== undefined && "value" in itself && itself.value !== undefined;
}

function objectItself({ kind }: OwnerRef, { machine, instance, pod }: RunningObjects): Read<unknown> | undefined {
  if (kind === "Pod") return pod;
  return kind === "VirtualMachine" ? machine : instance;
}

function interfacesInObject(
  { kind, namespace }: OwnerRef,
  { machine, instance, pod }: RunningObjects,
): AskedInterface[] {
  const valueIn = (read: Read<Machine> | undefined) => (read !== undefined && "value" in read ? read.value : undefined);
  if (kind === "VirtualMachine") return interfacesOfGuest(valueIn(machine)?.spec?.template?.spec, namespace);
  if (kind === "VirtualMachineInstance") return interfacesOfGuest(valueIn(instance)?.spec, namespace);
  return "value" in pod && pod.value !== undefined ? interfacesOfPod(pod.value, namespace) : [];
}

function macOf(name: string, known: readonly AskedInterface[]): string | undefined {
  return known.find((one) => one.name === name)?.mac;
}
