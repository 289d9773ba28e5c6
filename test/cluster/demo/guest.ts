import { claimName, parseMac } from "../../../src/api/mac.ts";
import { NETWORK_STATUS_ANNOTATION } from "../../../src/api/names.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { eventually } from "../../support/eventually.ts";
import { assertThat } from "./assert.ts";
import {
  CLAIMS,
  type DemoCluster,
  getIfThere,
  inPod,
  onNode,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
  whenSeen,
} from "./demo-cluster.ts";
import { NAMESPACE, NETWORK } from "./objects.ts";

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
export async function runningGuest(demo: DemoCluster, name: string, signal: AbortSignal): Promise<Guest> {
  const ref = { name, namespace: NAMESPACE };
  const running = await whenSeen(
    demo,
    VIRTUAL_MACHINE_INSTANCES,
    ref,
    (vmi) => vmi.status?.phase === "Running" && vmi.status.interfaces?.[0]?.mac !== undefined,
    signal,
  );
  const mac = await macOf(demo, name);
  const reported = running.object.status?.interfaces?.[0];
  const node = running.object.status?.nodeName ?? "";
  const link = reported?.podInterfaceName ?? "";
  const pod = await launcherOf(demo, running.object.metadata.uid ?? "");
  const podName = pod.metadata.name ?? "";
  const inside = await linkInPod(demo, podName, link);
  const outside = await hostEnd(demo, node, inside);
  assertThat(inside.address === mac, `VM ${name} has ${mac}, the kernel has ${inside.address} on ${link}`);
  assertThat(reported?.mac === mac, `VM ${name} has ${mac}, its VMI reports ${reported?.mac}`);
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

export async function macOf(demo: DemoCluster, vm: string): Promise<string> {
  const { spec } = await demo.client.get(VIRTUAL_MACHINES, { name: vm, namespace: NAMESPACE });
  const nic = spec?.template?.spec?.domain?.devices?.interfaces?.find((each) => each.name === NETWORK);
  assertThat(nic?.macAddress !== undefined, `VM ${vm} got no MAC for ${NETWORK}`);
  return nic.macAddress;
}

export function claimOf(mac: string): string {
  const parsed = parseMac(mac);
  assertThat(parsed !== undefined, `${mac} is no MAC address`);
  return claimName(parsed);
}

/** Waits until the claim of this MAC has this phase. */
export async function claimInPhase(demo: DemoCluster, mac: string, phase: string, signal: AbortSignal): Promise<void> {
  let last = "there is none";
  await eventually(
    `the claim of ${mac} to be ${phase}`,
    async () => {
      const claim = await getIfThere(demo, CLAIMS, { name: claimOf(mac) });
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

async function launcherOf(demo: DemoCluster, vmiUid: string): Promise<Pod> {
  const labelSelector = `kubevirt.io/created-by=${vmiUid}`;
  const { items } = await demo.client.list(RESOURCES.pods, { namespace: NAMESPACE, labelSelector });
  const [pod] = items;
  assertThat(pod !== undefined && items.length === 1, `${items.length} launcher pods instead of one`);
  return pod;
}

async function linkInPod(demo: DemoCluster, pod: string, link: string): Promise<IpLink> {
  const text = await inPod(demo, NAMESPACE, pod, ["ip", "-json", "link", "show", "dev", link]);
  const [found] = JSON.parse(text) as IpLink[];
  assertThat(found !== undefined, `pod ${pod} has no link ${link}`);
  return found;
}

/** The veth whose index the link in the pod names as its other end. */
async function hostEnd(demo: DemoCluster, node: string, inside: IpLink): Promise<IpLink> {
  const links = JSON.parse(await onNode(demo, node, ["ip", "-json", "link", "show"])) as IpLink[];
  const found = links.find(({ ifindex }) => ifindex === inside.link_index);
  assertThat(found !== undefined, `${node} has no other end of ${inside.ifname} (index ${inside.link_index})`);
  return found;
}
