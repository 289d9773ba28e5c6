import { BRIDGE_RESOURCE_PREFIX, NETWORK_STATUS_ANNOTATION } from "../../api/names.ts";
import { isFinishedPhase } from "../../api/phase.ts";
import type { Step } from "../../api/way.ts";
import type { Pod } from "../../kube/client/built-in-kinds.ts";
import type { ObjectMeta } from "../../kube/client/resource.ts";
import type { Machine, WayFacts, WayInterface } from "./facts.ts";
import { type Attachment, addressIn, attachmentsIn } from "./interfaces.ts";
import { ok, quoted, unknown, wrong } from "./step.ts";

/** What the scheduler, the runtime and multus made of the pod. */

export const isFinished = (pod: Pod | undefined): boolean => isFinishedPhase(pod?.status?.phase);

export function scheduled(facts: WayFacts): Step {
  const { pod, history } = facts;
  const known = "value" in history ? history.value : undefined;
  if ("unknown" in pod) {
    const isPlaced = known?.node !== undefined && known.node !== null;
    return isPlaced
      ? ok("scheduled", `pod ${known.pod} on ${known.node}`)
      : unknown("scheduled", `its pod is ${pod.unknown}`);
  }
  if (pod.value === undefined) return withoutPod(facts);
  const name = `pod ${pod.value.metadata.name}`;
  if (isFinished(pod.value)) return unknown("scheduled", `${name} has ended`);
  const { nodeName } = pod.value.spec ?? {};
  if (nodeName !== undefined) return ok("scheduled", `${name} on ${nodeName}`);
  const said = pod.value.status?.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False");
  if (said?.message === undefined) return unknown("scheduled", `${name} is not scheduled yet`);
  return unschedulable(said.message, describeCommand("pod", pod.value.metadata));
}

/** A VM that does not run, or that KubeVirt could not start. */
function withoutPod({ owner, machine, instance }: WayFacts): Step {
  if (owner.kind === "Pod") return unknown("scheduled", "the pod does not exist");
  if (instance !== undefined && "unknown" in instance) return unknown("scheduled", `its VMI is ${instance.unknown}`);
  const isStarting = instance?.value !== undefined;
  const fault = faultOf(instance, "Synchronized", "False") ?? faultOf(machine, "Failure", "True");
  if (fault !== undefined) {
    const remedy = `${describeCommand(isStarting ? "vmi" : "vm", owner)} shows more.`;
    return wrong("scheduled", `KubeVirt can't start it: ${quoted(fault)}`, remedy);
  }
  if (isStarting) return unknown("scheduled", "KubeVirt has not made its pod yet");
  return unknown("scheduled", "it does not run, so nothing is scheduled or attached");
}

function describeCommand(kind: string, { name, namespace }: Pick<ObjectMeta, "name" | "namespace">): string {
  return `kubectl describe ${kind} ${name} -n ${namespace}`;
}

function faultOf(machine: WayFacts["machine"], type: string, status: string): string | undefined {
  const object: Machine | undefined = machine !== undefined && "value" in machine ? machine.value : undefined;
  return object?.status?.conditions?.find((one) => one.type === type && one.status === status)?.message;
}

/** `0/3 nodes are available: 1 node(s) had untolerated taint {...}, 2 Insufficient bridge.network.kubevirt.io/br9.` */
const UNAVAILABLE = /^0\/(\d+) nodes are available: /;
const INSUFFICIENT = new RegExp(
  `(\\d+) Insufficient ${BRIDGE_RESOURCE_PREFIX.replaceAll(".", "\\.")}([^\\s,]*[^\\s,.])`,
);

function unschedulable(message: string, describe: string): Step {
  const [, total] = UNAVAILABLE.exec(message) ?? [];
  const [, count, bridge] = INSUFFICIENT.exec(message) ?? [];
  if (total === undefined || bridge === undefined) {
    return wrong("scheduled", `the scheduler says: ${quoted(message)}`, `${describe} shows more`);
  }
  const remedy = `Make ${bridge} on a node, or correct "bridge" of the network.`;
  if (count === total) return wrong("scheduled", `0/${total} nodes have bridge ${bridge}`, remedy);
  const text = `${count} of ${total} nodes do not have bridge ${bridge}; the scheduler says: ${quoted(message)}`;
  return wrong("scheduled", text, `${remedy} Or look why a node that has it takes no pod: ${describe} shows more.`);
}

/** `refusal`: what to do about the node, where the plugin refuses the network there. */
export function attached({ owner, pod, sandboxErrors }: WayFacts, nic: WayInterface, refusal?: string): Step {
  if ("unknown" in pod) return unknown("attached", `its pod is ${pod.unknown}`);
  const { metadata, status } = pod.value ?? {};
  const text = metadata?.annotations?.[NETWORK_STATUS_ANNOTATION];
  const network = networkOf(nic);
  const all = text === undefined ? undefined : attachmentsIn(text);
  const found = attachmentsTo(all, nic);
  const one = found.find(({ mac }) => addressIn(mac) === nic.mac) ?? found[0];
  if (one !== undefined) {
    const mac = addressIn(one.mac);
    const device = `as ${quoted(String(one.interface ?? "?"))}`;
    if (nic.mac === undefined || mac === nic.mac) return ok("attached", `${device}${mac ? ` with ${mac}` : ""}`);
    return wrong("attached", `${device} with ${mac ?? "no address"}, not with ${nic.mac}`, again(owner));
  }
  if (text !== undefined && status?.phase === "Running") {
    const reason = all === undefined ? "its network-status can't be read" : `its network-status has no ${network}`;
    return wrong("attached", `${pod.value?.metadata.name} runs, but ${reason}`, again(owner));
  }
  if (status?.phase === "Running") {
    const ofNode = `kubectl get pods -A --field-selector spec.nodeName=${pod.value?.spec?.nodeName}`;
    const remedy = `Look whether multus runs there: ${ofNode} | grep multus. ${again(owner)}`;
    return wrong("attached", `${pod.value?.metadata.name} runs, but multus attached nothing to it`, remedy);
  }
  if ("unknown" in sandboxErrors) return unknown("attached", `not yet; events are ${sandboxErrors.unknown}`);
  const [error] = sandboxErrors.value ?? [];
  if (error === undefined) return unknown("attached", "not yet, and the runtime has reported no error");
  const attempts = `${describeCommand("pod", metadata ?? {})} shows each attempt.`;
  return wrong("attached", cniError(error), refusal ?? attempts);
}

const networkOf = ({ nad }: Pick<WayInterface, "nad">): string => `${nad?.namespace}/${nad?.name}`;

function attachmentsTo(all: readonly Attachment[] = [], nic: Pick<WayInterface, "nad">): readonly Attachment[] {
  return all.filter(({ name }) => name === networkOf(nic));
}

/** The address of the interface by the annotation of the pod alone. */
export function attachedMac(pod: Pod | undefined, nic: Pick<WayInterface, "nad">): string | undefined {
  const text = pod?.metadata.annotations?.[NETWORK_STATUS_ANNOTATION];
  const [first] = attachmentsTo(text === undefined ? undefined : attachmentsIn(text), nic);
  return addressIn(first?.mac);
}

function again({ kind, namespace, name }: WayFacts["owner"]): string {
  const ref = `${name} -n ${namespace}`;
  const todo = {
    VirtualMachine: `virtctl restart ${ref}`,
    VirtualMachineInstance: `kubectl delete vmi ${ref}, and make it again.`,
    Pod: `kubectl delete pod ${ref}, and make it again.`,
  }[kind];
  return `A pod gets what it asks for when it starts: ${todo}`;
}

/** Before the words of the plugin: what the runtime and multus say around them, and `[NAMESPACE/POD/UID:NETWORK]: `. */
const BEFORE_ERROR = [
  /^.*\[[^\]\s]+:[^\]\s]*\]: /s,
  /^.*?failed \(add\): /s,
  /^.*?failed to setup network for sandbox \S+: /s,
];

/** Of `Failed to create pod sandbox: rpc error: ... failed (add): [lab/web/uid:blue]: error adding container to ...`. */
function cniError(message: string): string {
  const before = BEFORE_ERROR.find((pattern) => pattern.test(message));
  return quoted(before === undefined ? message : message.replace(before, ""));
}
