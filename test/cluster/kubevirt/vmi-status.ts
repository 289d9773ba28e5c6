import { NETWORK_STATUS_ANNOTATION } from "../../../src/api/names.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import { LABEL_MIGRATION, podInterfaceName } from "./launcher-pod.ts";
import type { VirtualMachineInstance, VmiInterfaceStatus, VmiPhase, VmNetwork } from "./virtual-machine.ts";

/** What a VirtualMachineInstance's status says, derived from its launcher pods. Pure. */

export type VmiStatus = NonNullable<VirtualMachineInstance["status"]>;

interface NetworkStatusEntry {
  readonly interface?: string;
  readonly mac?: string;
  readonly ips?: readonly string[];
}

/** The pod that runs the guest, also in the middle of a migration and after several of them. */
export function activePod(vmi: VirtualMachineInstance, pods: readonly Pod[]): Pod | undefined {
  const migration = vmi.status?.migrationState;
  if (migration === undefined) return pods.find((pod) => pod.metadata.labels?.[LABEL_MIGRATION] === undefined);
  const name = migration.completed === true ? migration.targetPod : migration.sourcePod;
  return pods.find((pod) => pod.metadata.name === name);
}

/**
 * `active` is the pod that runs the guest: before a migration's hand-over the source, afterwards the target.
 * undefined: no launcher exists yet. A Succeeded or Failed VMI never comes back to life.
 */
export function vmiStatus(vmi: VirtualMachineInstance, active: Pod | undefined, pods: readonly Pod[]): VmiStatus {
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

function vmiPhase(before: VmiPhase | undefined, active: Pod | undefined): VmiPhase {
  if (before === "Succeeded" || before === "Failed") return before;
  if (active === undefined) return before === "Running" ? "Failed" : "Pending";
  if (active.status?.phase === "Succeeded") return "Succeeded";
  if (active.status?.phase === "Failed") return "Failed";
  if (isReady(active)) return "Running";
  if (before === "Running") return "Running";
  return active.spec?.nodeName === undefined ? "Scheduling" : "Scheduled";
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function activePods(pods: readonly Pod[]): Record<string, string> {
  return Object.fromEntries(
    pods
      .filter((pod) => pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed")
      .map((pod) => [pod.metadata.uid ?? "", pod.spec?.nodeName ?? ""]),
  );
}

/** The guest's MAC is the one in the spec, else the link's own, which the guest inherits. */
function interfaceStatuses(vmi: VirtualMachineInstance, pod: Pod): VmiInterfaceStatus[] {
  const interfaces = vmi.spec?.domain?.devices?.interfaces ?? [];
  const networkStatus = readNetworkStatus(pod);
  return (vmi.spec?.networks ?? []).flatMap((network) => {
    const nic = interfaces.find((candidate) => candidate.name === network.name);
    if (nic === undefined || nic.state === "absent") return [];
    const podInterface = podInterfaceName(network);
    const link = networkStatus.find((entry) => entry.interface === podInterface);
    const mac = nic.macAddress ?? link?.mac;
    const ipAddress = link?.ips?.[0] ?? (isPodNetwork(network) ? pod.status?.podIP : undefined);
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

const isPodNetwork = (network: VmNetwork): boolean => network.multus === undefined;

function readNetworkStatus(pod: Pod): NetworkStatusEntry[] {
  const text = pod.metadata.annotations?.[NETWORK_STATUS_ANNOTATION];
  if (text === undefined || text === "") return [];
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed) ? parsed : [];
}
