import { claimName, parseMac } from "../../../src/api/mac.ts";
import { NETWORK_STATUS_ANNOTATION } from "../../../src/api/names.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { eventually } from "../../support/eventually.ts";
import { must } from "./must.ts";
import { NAMESPACE, NETWORK } from "./objects.ts";
import {
  CLAIMS,
  getIfThere,
  inPod,
  onNode,
  type Stage,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
  whenSeen,
} from "./stage.ts";

/** A running VM of the demo as the cluster and the kernel show it. */
export interface Guest {
  readonly name: string;
  /** The MAC in the VM's spec. */
  readonly mac: string;
  readonly claim: string;
  readonly pod: Pod;
  readonly podName: string;
  readonly node: string;
  /** The link in the pod, and its MAC as the kernel says. */
  readonly link: string;
  readonly linkMac: string;
  /** The other end of the veth pair, and the bridge it is a port of. */
  readonly hostLink: string;
  readonly bridge: string;
}

interface IpLink {
  readonly ifname: string;
  readonly ifindex: number;
  readonly link_index?: number;
  readonly address: string;
  readonly master?: string;
}

interface NetworkStatus {
  readonly name: string;
  readonly interface: string;
  readonly mac?: string;
}

/** Waits until the VM runs, then reads everything back. Throws where two sources disagree on the MAC. */
export async function runningGuest(stage: Stage, name: string, signal: AbortSignal): Promise<Guest> {
  const ref = { name, namespace: NAMESPACE };
  const running = await whenSeen(
    stage,
    VIRTUAL_MACHINE_INSTANCES,
    ref,
    (vmi) => vmi.status?.phase === "Running" && vmi.status.interfaces?.[0]?.mac !== undefined,
    signal,
  );
  const mac = await macOf(stage, name);
  const reported = running.object.status?.interfaces?.[0];
  const node = running.object.status?.nodeName ?? "";
  const link = reported?.podInterfaceName ?? "";
  const pod = await launcherOf(stage, running.object.metadata.uid ?? "");
  const podName = pod.metadata.name ?? "";
  const inside = await linkInPod(stage, podName, link);
  const outside = await hostEnd(stage, node, inside);
  must(inside.address === mac, `VM ${name} has ${mac}, the kernel has ${inside.address} on ${link}`);
  must(reported?.mac === mac, `VM ${name} has ${mac}, its VMI reports ${reported?.mac}`);
  return {
    name,
    mac,
    claim: claimOf(mac),
    pod,
    podName,
    node,
    link,
    linkMac: inside.address,
    hostLink: outside.ifname,
    bridge: outside.master ?? "",
  };
}

export async function macOf(stage: Stage, vm: string): Promise<string> {
  const { spec } = await stage.client.get(VIRTUAL_MACHINES, { name: vm, namespace: NAMESPACE });
  const nic = spec?.template?.spec?.domain?.devices?.interfaces?.find((each) => each.name === NETWORK);
  must(nic?.macAddress !== undefined, `VM ${vm} got no MAC for ${NETWORK}`);
  return nic.macAddress;
}

export function claimOf(mac: string): string {
  const parsed = parseMac(mac);
  must(parsed !== undefined, `${mac} is no MAC address`);
  return claimName(parsed);
}

/** Waits until the claim of this MAC has this phase. */
export async function claimInPhase(stage: Stage, mac: string, phase: string, signal: AbortSignal): Promise<void> {
  let last = "there is none";
  await eventually(
    `the claim of ${mac} to be ${phase}`,
    async () => {
      const claim = await getIfThere(stage, CLAIMS, { name: claimOf(mac) });
      last = claim?.status?.phase ?? "there is none";
      return last === phase;
    },
    { limitMs: 15_000, signal, state: () => last },
  );
}

/** What network-status says of the guest's link. */
export function networkStatusOf(guest: Guest): NetworkStatus | undefined {
  const text = guest.pod.metadata.annotations?.[NETWORK_STATUS_ANNOTATION] ?? "[]";
  return (JSON.parse(text) as NetworkStatus[]).find((entry) => entry.interface === guest.link);
}

async function launcherOf(stage: Stage, vmiUid: string): Promise<Pod> {
  const labelSelector = `kubevirt.io/created-by=${vmiUid}`;
  const { items } = await stage.client.list(RESOURCES.pods, { namespace: NAMESPACE, labelSelector });
  const [pod] = items;
  must(pod !== undefined && items.length === 1, `${items.length} launcher pods instead of one`);
  return pod;
}

async function linkInPod(stage: Stage, pod: string, link: string): Promise<IpLink> {
  const text = await inPod(stage, NAMESPACE, pod, ["ip", "-json", "link", "show", "dev", link]);
  const [found] = JSON.parse(text) as IpLink[];
  must(found !== undefined, `pod ${pod} has no link ${link}`);
  return found;
}

/** The veth whose index the link in the pod names as its other end. */
async function hostEnd(stage: Stage, node: string, inside: IpLink): Promise<IpLink> {
  const links = JSON.parse(await onNode(stage, node, ["ip", "-json", "link", "show"])) as IpLink[];
  const found = links.find(({ ifindex }) => ifindex === inside.link_index);
  must(found !== undefined, `${node} has no other end of ${inside.ifname} (index ${inside.link_index})`);
  return found;
}
