import { isDeepStrictEqual } from "node:util";
import { NETWORK_STATUS_ANNOTATION } from "../multus/network-status.ts";
import { LABEL_MIGRATION, podInterfaceName } from "./launcher-pod.ts";
import {
  isFinal,
  type Launcher,
  type VirtualMachineInstance,
  type VmiInterfaceStatus,
  type VmiPhase,
  type VmiStatus,
} from "./virtual-machine.ts";
import type { Write } from "./write.ts";

/** What a VirtualMachineInstance's status says, derived from its launcher pods. Pure. */

interface NetworkStatusEntry {
  readonly interface?: string;
  readonly mac?: string;
  readonly ips?: readonly string[];
}

/** Writes the status where it differs. A Succeeded or Failed instance never comes back to life. */
export function writesForVmiStatus(vmi: VirtualMachineInstance, status: VmiStatus): Write[] {
  if (isFinal(vmi.status?.phase) || isDeepStrictEqual(status, vmi.status)) return [];
  return [{ verb: "status", object: vmi, status }];
}

/** The pod that runs the guest, also in the middle of a migration and after several of them. */
export function activePod<T extends Launcher>(vmi: VirtualMachineInstance, pods: readonly T[]): T | undefined {
  const migration = vmi.status?.migrationState;
  if (migration === undefined) return pods.find((pod) => pod.metadata.labels?.[LABEL_MIGRATION] === undefined);
  const name = migration.completed === true ? migration.targetPod : migration.sourcePod;
  return pods.find((pod) => pod.metadata.name === name);
}

/**
 * `active` is the pod that runs the guest: before a migration's hand-over the source, afterwards the target.
 * undefined: no launcher exists yet.
 */
export function vmiStatus(
  vmi: VirtualMachineInstance,
  active: Launcher | undefined,
  pods: readonly Launcher[],
): VmiStatus {
  const phase = vmiPhase(vmi.status?.phase, active);
  const nodeName = active?.spec?.nodeName;
  return {
    ...vmi.status,
    phase,
    ...(nodeName === undefined ? {} : { nodeName }),
    activePods: activePods(pods),
    ...(phase === "Running" && active !== undefined ? { interfaces: interfaceStatuses(vmi, active) } : {}),
  };
}

function vmiPhase(before: VmiPhase | undefined, active: Launcher | undefined): VmiPhase {
  if (before === "Succeeded" || before === "Failed") return before;
  if (active === undefined) return before === "Running" ? "Failed" : "Pending";
  if (active.status?.phase === "Succeeded") return "Succeeded";
  if (active.status?.phase === "Failed") return "Failed";
  if (isReady(active)) return "Running";
  if (before === "Running") return "Running";
  return active.spec?.nodeName === undefined ? "Scheduling" : "Scheduled";
}

export function isReady(pod: Launcher): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function activePods(pods: readonly Launcher[]): Record<string, string> {
  return Object.fromEntries(
    pods
      .filter((pod) => pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed")
      .map((pod) => [pod.metadata.uid ?? "", pod.spec?.nodeName ?? ""]),
  );
}

/** A network of multus is there once the pod has its link. The guest's MAC is the one in the spec, else the link's own. */
function interfaceStatuses(vmi: VirtualMachineInstance, pod: Launcher): VmiInterfaceStatus[] {
  const interfaces = vmi.spec?.domain?.devices?.interfaces ?? [];
  const links = readNetworkStatus(pod);
  return (vmi.spec?.networks ?? []).flatMap((network) => {
    const nic = interfaces.find((candidate) => candidate.name === network.name);
    const podInterface = podInterfaceName(network);
    const link = links.find((entry) => entry.interface === podInterface);
    if (nic === undefined || nic.state === "absent" || (network.multus && link === undefined)) return [];
    const mac = nic.macAddress ?? link?.mac;
    const ipAddress = link?.ips?.[0] ?? (network.multus === undefined ? pod.status?.podIP : undefined);
    return [
      {
        name: network.name,
        ...(mac === undefined ? {} : { mac }),
        ...(ipAddress === undefined ? {} : { ipAddress }),
        podInterfaceName: podInterface,
        infoSource: network.multus === undefined ? "domain" : "domain, multus-status",
      },
    ];
  });
}

function readNetworkStatus(pod: Launcher): NetworkStatusEntry[] {
  const text = pod.metadata.annotations?.[NETWORK_STATUS_ANNOTATION];
  if (text === undefined || text === "") return [];
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed) ? parsed : [];
}
