/**
 * The way of one interface from the request to the frame. Pure: takes what was read, and tells each station up to the first
 * where something is wrong. What is not known stops nothing.
 */
import { addressesIn, describeHosts, HOST_CONFLICT_ADVICE } from "../../api/host-interfaces.ts";
import { parseMac } from "../../api/mac.ts";
import {
  describeSeenElsewhere,
  type Flap,
  flapsOf,
  isElsewhere,
  SEEN_ELSEWHERE_ADVICE,
  type Seat,
  seatOfInstance,
  seatOfPod,
} from "../../api/seen-elsewhere.ts";
import type { Step } from "../../api/way.ts";
import type { UsedNowView } from "../../mac-pool/inspection/rest/views.ts";
import type { KnownHistory } from "../backends/pool-backend.ts";
import { hiddenText, UNMANAGED } from "../claim-text.ts";
import { bridge } from "./bridge-step.ts";
import type { WayFacts, WayInterface } from "./facts.ts";
import { kernelSteps, remedyOfRefusal } from "./kernel-steps.ts";
import { type NetworkOnBridge, onBridge } from "./network-on-bridge.ts";
import { network } from "./network-step.ts";
import { attached, attachedMac, isFinished, scheduled } from "./pod-steps.ts";
import { named, ok, quoted, unknown, wrong } from "./step.ts";
import { toldBridge, toldKernel, toldRefusal } from "./told-steps.ts";

const FREE_FIRST = "Stop or delete the other one first, or give one of them another address.";

export function wayOf(facts: WayFacts, nic: WayInterface): readonly Step[] {
  const steps: Step[] = [];
  for (const step of stations(facts, nic)) {
    steps.push(step);
    if (step.state === "wrong") break;
  }
  return steps;
}

function* stations(facts: WayFacts, nic: WayInterface): Generator<Step, void> {
  const bridged = onBridge(nic);
  const { nad, told } = nic;
  const node = nodeOf(facts);
  const hasNode = node.value !== undefined;
  yield accepted(facts, nic);
  yield network(facts, nic, bridged);
  // Whether a network leads to a bridge is not known of one that nobody tells this user of.
  const hidden = "unknown" in nic.network && told === undefined ? nic.network.unknown : undefined;
  const leads = bridged !== undefined || told?.bridge !== undefined || hidden !== undefined;
  if (bridged !== undefined) yield bridge(facts, bridged, hasNode, told);
  else if (told?.bridge !== undefined) yield toldBridge(told, hasNode);
  else if (hidden !== undefined) yield unknown("bridge", `the network is ${hidden}`);
  yield scheduled(facts);
  let frames: Step | undefined;
  // Without a node, there is nothing to attach to.
  if (nad !== undefined && (hasNode || node.unknown !== undefined)) {
    const attachment = attached(facts, nic, refusalOn(facts, nic, node.value, bridged));
    yield attachment;
    if (leads) {
      const { kernel, leaving } = kernelOf(facts, nic, node, bridged);
      yield kernel;
      const notYet = "unknown" in facts.pod ? attachment.text : "nothing is attached yet";
      frames = attachment.state === "ok" ? leaving : unknown("frames", notYet);
    }
  }
  const mac = nic.mac ?? attachedMac("value" in facts.pod ? facts.pod.value : undefined, nic);
  if (mac !== undefined) yield alone(facts, mac, nic.name);
  if (frames !== undefined) yield frames;
}

/** Where something runs; neither where it does not run. */
interface KnownNode {
  readonly value?: string | undefined;
  /** Why it is not known. */
  readonly unknown?: string;
}

/** Where the pod is not visible, its node may still be known. */
function nodeOf({ pod, history }: WayFacts): KnownNode {
  if ("value" in pod) return { value: isFinished(pod.value) ? undefined : pod.value?.spec?.nodeName };
  const known = "value" in history ? history.value : undefined;
  if (known === undefined || known.node === null) return { unknown: pod.unknown };
  return { value: known.node };
}

/** What to do about the node, where it is known that the plugin refuses the network there. */
function refusalOn(
  { reports }: WayFacts,
  { told }: WayInterface,
  node: string | undefined,
  bridged: NetworkOnBridge | undefined,
): string | undefined {
  if (node === undefined) return undefined;
  if (bridged !== undefined && "value" in reports) return remedyOfRefusal(reports, node, bridged);
  return told && toldRefusal(told, node);
}

function kernelOf(facts: WayFacts, nic: WayInterface, node: KnownNode, bridged: NetworkOnBridge | undefined) {
  const { reports } = facts;
  if (node.value === undefined) return untold(`its pod is ${node.unknown}`);
  if (bridged !== undefined && "value" in reports) {
    const { kernel, leaving } = kernelSteps(reports, node.value, bridged);
    return { kernel, leaving: leaving ?? unknown("frames", kernel.text) };
  }
  if ("unknown" in nic.network && nic.told === undefined) return untold(`the network is ${nic.network.unknown}`);
  const hidden = "unknown" in reports ? reports.unknown : "not known without the network";
  if (nic.told !== undefined) return toldKernel(nic.told, nic.toldBridge, node.value, hidden);
  const leaving = unknown("frames", `by which uplinks frames leave ${node.value} is ${hidden}`);
  return { kernel: unknown("kernel", `the report of ${node.value} is ${hidden}`), leaving };
}

const untold = (text: string) => ({ kernel: unknown("kernel", text), leaving: unknown("frames", text) });

function accepted(facts: WayFacts, { name, mac, taken, ...nic }: WayInterface): Step {
  const { history, owner, pod } = facts;
  if ("unknown" in history) return unknown("accepted", `${mac ?? "no address"}; claims are ${history.unknown}`);
  const refusal = refusalOf(history.value, name);
  if (mac === undefined) {
    if (refusal !== undefined) {
      const { message, mac: asked } = refusal;
      const more = asked === undefined ? `denials -n ${owner.namespace}` : `find ${asked} -n ${owner.namespace}`;
      const remedy = `kubectl macpool ${more} shows more`;
      return wrong("accepted", `refused: ${quoted(message)}`, remedy);
    }
    const said = attachedMac("value" in pod ? pod.value : undefined, nic);
    if (said !== undefined && taken !== undefined) {
      const text = `no address from a pool; its network-status says ${said}, ${taken}`;
      return unknown("accepted", text, `kubectl macpool find ${said} -n ${owner.namespace} shows more`);
    }
    return unknown("accepted", "no address from a pool", askNamespaces(owner.namespace));
  }
  const later = refusal === undefined ? "" : "; its last change or start was refused";
  const held = heldInterface(history.value, name, mac);
  if (held?.claim === undefined && taken !== undefined) {
    if (history.value?.holder === null) {
      const text = `${mac}, ${taken}. Whether this belongs to it is not visible to you`;
      return unknown("accepted", `${text}: needs get on virtualmachines and virtualmachineinstances${later}`);
    }
    const remedy = "Leave the address out to get one from the pool, or take it from its owner first.";
    return wrong("accepted", `it takes ${mac}, ${taken}${later}`, remedy);
  }
  if (held?.claim === undefined) {
    return unknown("accepted", `${mac}, for which no pool has a claim${later}`, askNamespaces(owner.namespace));
  }
  const isShared = history.value?.history.some((one) => one.what === "shared" && one.mac === mac);
  const shared = isShared ? `; another object has it too: kubectl macpool find ${mac} -n ${owner.namespace}` : "";
  const ofHolder = held.holder && `of ${held.holder.kind} ${owner.namespace}/${held.holder.name}`;
  const told = [held.origin, held.phase, ofHolder].filter(Boolean).join(", ");
  return ok("accepted", `${mac}, ${told}${shared}${later}`);
}

/** A launcher has other names for the interfaces than the VM that holds its addresses. */
function heldInterface(history: KnownHistory | undefined, name: string, mac: string) {
  return history?.interfaces.find((one) => (one.interface === name || one.holder !== undefined) && one.mac === mac);
}

function askNamespaces(namespace: string): string {
  return `kubectl macpool namespaces -n ${namespace} says whether a pool serves the namespace`;
}

/** The last thing that happened to the object, where that was a refusal that is about the interface or about no single one. */
function refusalOf(history: KnownHistory | undefined, name: string) {
  const [last] = history?.history ?? [];
  return last?.what === "refused" && (last.interface ?? name) === name ? last : undefined;
}

function alone(facts: WayFacts, mac: string, name: string): Step {
  const inCluster = aloneInCluster(facts, mac, name);
  return inCluster.state === "wrong" ? inCluster : (seenBeyondUplink(facts, mac) ?? inCluster);
}

/** Undefined where the node has not found the address there, or nobody knows where the object runs. */
function seenBeyondUplink(facts: WayFacts, text: string): Step | undefined {
  const mac = parseMac(text);
  const reports = ("value" in facts.reports ? facts.reports.value : undefined) ?? [];
  if (mac === undefined) return undefined;
  const flap = flapToldBy(facts, text) ?? flapsOf(mac, reports).find((one) => isElsewhere(seatOfOwner(facts), one));
  return flap && wrong("alone", describeSeenElsewhere(mac, flap), SEEN_ELSEWHERE_ADVICE);
}

/** What the pool says. A user who may not read NodeMACs knows it from there alone. */
function flapToldBy(facts: WayFacts, mac: string): Flap | undefined {
  const collisions = ("value" in facts.collisions ? facts.collisions.value : undefined) ?? [];
  const stations = collisions.find((one) => one.mac === mac)?.stations ?? [];
  const told = stations.find(({ node }) => node === nodeOf(facts).value);
  return told && { node: told.node, station: told };
}

/** Undefined while the object migrates, or where the user does not see it. */
function seatOfOwner({ owner, instance, pod }: WayFacts): Seat | undefined {
  if (owner.kind === "Pod") return seatOfPod("value" in pod ? pod.value : undefined);
  return seatOfInstance(instance !== undefined && "value" in instance ? instance.value : undefined);
}

function aloneInCluster(facts: WayFacts, mac: string, name: string): Step {
  const { owner, collisions, moreCollisions = 0, history, knowsRunning } = facts;
  const hosts = hostsWith(facts, mac, name);
  if ("value" in hosts && hosts.value !== undefined) {
    return wrong("alone", `${mac} is also the address of ${hosts.value}`, HOST_CONFLICT_ADVICE);
  }
  if ("unknown" in collisions) return unknown("alone", `whether others have ${mac} is ${collisions.unknown}`);
  const known = "value" in history ? history.value : undefined;
  const held = heldInterface(known, name, mac);
  const used = held?.usedNow;
  const collision = collisions.value?.find((one) => one.mac === mac) ?? (used && { ...used, advice: FREE_FIRST });
  const selves = [owner, ...(held?.holder ? [{ ...held.holder, namespace: owner.namespace }] : [])];
  const others = (collision?.parties ?? []).filter((one) => !selves.some((self) => isSelf(one, self)));
  const elsewhere = collision?.elsewhere ?? 0;
  if (collision !== undefined && others.length + elsewhere > 0) {
    const who = named([...others.map(partyText), ...hiddenText(elsewhere)]);
    if (collision.isSaid && others.every(({ saidBy }) => saidBy !== undefined)) {
      return unknown(
        "alone",
        `nothing else that the pool knows runs with ${mac}; by what pods say of themselves, it is also in use by ${who}`,
        collision.advice,
      );
    }
    if (knowsRunning || others.some((one) => one.node !== undefined)) {
      return wrong("alone", `${mac} is also in use by ${who}`, collision.advice);
    }
    return unknown("alone", `${mac} is also allocated to ${who}; whether that runs is not known without the service`);
  }
  if (collision === undefined && moreCollisions > 0) {
    const told = `the pool's list of collisions leaves out ${moreCollisions}`;
    return unknown(
      "alone",
      `whether others have ${mac} is not known: ${told}`,
      `kubectl macpool find ${mac} -n ${owner.namespace} shows more`,
    );
  }
  if ("unknown" in hosts) return unknown("alone", `whether a node has ${mac} is ${hosts.unknown}`);
  if (!knowsRunning) return ok("alone", `no claim gives ${mac} to another object, and no node has it`);
  const refusal = refusalOf(known, name);
  const wasRefused = refusal?.code === "MACPOOL_RUNNING" && refusal.mac === mac;
  const then = wasRefused ? " now; one had it when the start was refused" : "";
  return ok("alone", `no other running object and no node has ${mac}${then}`);
}

/** The interfaces of nodes that have the address too, in words. The pool is right about those that its policy passes over. */
function hostsWith({ history, reports }: WayFacts, mac: string, name: string) {
  const held = "value" in history ? heldInterface(history.value, name, mac) : undefined;
  if (held !== undefined && held.hostAddress !== null) return { value: held.hostAddress };
  if ("unknown" in reports) return reports;
  if (!reports.value?.length) return { unknown: "not known: no node reports its addresses" };
  const address = parseMac(mac);
  const hosts = reports.value.flatMap((report) => {
    const found = address === undefined ? undefined : addressesIn(report).get(address);
    return found === undefined ? [] : [{ node: report.metadata.name ?? "", interface: found }];
  });
  return { value: hosts.length === 0 ? undefined : describeHosts(hosts) };
}

function partyText({
  kind,
  namespace,
  name,
  isManaged,
  saidBy,
  asksForIt,
  notRunningYet,
}: UsedNowView["parties"][number]) {
  const unmanaged = isManaged === false && saidBy === undefined ? ` (${UNMANAGED})` : "";
  const asks = asksForIt === true ? " (asks for it)" : "";
  return `${kind} ${namespace}/${name}${unmanaged}${asks}${notRunningYet === true ? " (starting)" : ""}`;
}

/** A VM, its instance and its launcher are one. */
function isSelf(party: WayFacts["owner"], owner: WayFacts["owner"]): boolean {
  const isSameSort = (party.kind === "Pod") === (owner.kind === "Pod");
  return isSameSort && party.namespace === owner.namespace && party.name === owner.name;
}
