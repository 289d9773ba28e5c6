/**
 * KubeVirt's bridge binding, as virt-handler makes it in a launcher pod: the pod's interface gets another name and MAC and
 * becomes a port of a bridge, beside the tap that QEMU opens. A dummy takes its name and its MAC.
 */

import type { Outcome } from "../netns/machine.ts";

export type RunInPod = (argv: readonly string[]) => Promise<Outcome>;

/** Names of the links of a binding. KubeVirt derives them all from the interface's own. */
export function bindingNames(podInterface: string) {
  const suffix = podInterface.replace(/^pod/, "");
  return { nic: `${suffix}-nic`, bridge: `k6t-${suffix}`, tap: `tap${suffix}`, sink: `${suffix}-end` };
}

/** What virt-handler takes away at the unplugging of an interface in a running pod: all that it made. */
export async function unbindByBridge(run: RunInPod, podInterface: string): Promise<void> {
  const { bridge, tap } = bindingNames(podInterface);
  for (const name of [bridge, tap, podInterface]) {
    const { code, stderr } = await run(["ip", "link", "del", name]);
    if (code !== 0) throw new Error(`ip link del ${name}: ${stderr}`);
  }
}

/** The tap's name and the guest's MAC, which was the interface's until now. */
export async function bindByBridge(run: RunInPod, podInterface: string): Promise<{ tap: string; mac: string }> {
  const { nic, bridge, tap, sink } = bindingNames(podInterface);
  const ip = async (command: string): Promise<string> => {
    const { code, stdout, stderr } = await run(["ip", ...command.split(" ")]);
    if (code !== 0) throw new Error(`ip ${command}: ${stderr}`);
    return stdout;
  };
  const link = async (name: string): Promise<{ address: string; mtu: number }> =>
    JSON.parse(await ip(`-json link show ${name}`))[0];

  const { address: mac, mtu } = await link(podInterface);
  await ip(`link add ${bridge} type bridge`);
  await ip(`link set ${podInterface} down`);
  await ip(`link set ${podInterface} name ${nic}`);
  await ip(`link set ${nic} address ${(await link(bridge)).address} master ${bridge}`);
  await ip(`link set ${nic} type bridge_slave learning off`);
  await run(["sh", "-c", `echo 1 >/proc/sys/net/ipv6/conf/${nic}/disable_ipv6`]);
  await ip(`tuntap add dev ${tap} mode tap`);
  await ip(`link set ${tap} mtu ${mtu} master ${bridge}`);
  for (const name of [nic, tap, bridge]) await ip(`link set ${name} up`);
  // Where the kernel has no dummy driver, an end of a veth pair does what one does: it has a name and a MAC.
  await ip(`link add ${podInterface} address ${mac} type dummy`).catch(() =>
    ip(`link add ${podInterface} address ${mac} type veth peer name ${sink}`),
  );
  return { tap, mac };
}
