import { expect, it } from "vitest";
import { bridge } from "../../../cni-plugins/bridge/bridge.ts";
import { runPlugin } from "../../../cni-plugins/protocol/plugin.ts";
import { MemoryHost } from "../memory-host.ts";
import { MemoryKernel } from "../memory-kernel.ts";

const NETNS = "/run/netns/pod";
const ENV = { CNI_CONTAINERID: "pod-1", CNI_NETNS: NETNS, CNI_IFNAME: "net1", CNI_PATH: "/bin" };
const NETWORK = { cniVersion: "1.0.0", name: "net", type: "bridge", bridge: "br1" };
const IPAM_ANSWER = JSON.stringify({ cniVersion: "1.0.0", ips: [{ address: "10.1.0.2/24" }] });

const CONFIGS: readonly [string, object][] = [
  ["on layer 2", { hairpinMode: true, portIsolation: true }],
  ["with a gateway in a VLAN", { vlan: 7, isGateway: true, ipam: { type: "ipam" } }],
];

function add(kernel: MemoryKernel, config: object): { host: MemoryHost; leases: number } {
  const host = new MemoryHost(kernel, { ...ENV, CNI_COMMAND: "ADD" }, JSON.stringify({ ...NETWORK, ...config }));
  const run = { host, leases: 0 };
  host.files["/proc/sys/net/ipv4/ip_forward"] = "1";
  host.programs["/bin/ipam"] = ({ assignments }) => {
    run.leases += assignments.includes("CNI_COMMAND=ADD") ? 1 : -1;
    return { stdout: IPAM_ANSWER };
  };
  runPlugin(host, bridge);
  return run;
}

function freshKernel(withBridge: boolean): MemoryKernel {
  const kernel = new MemoryKernel();
  kernel.namespaces.add(NETNS);
  if (withBridge) kernel.addLink({ name: "br1", filtering: true });
  return kernel;
}

/** Everything that a call could leave behind, without what points in circles. */
const state = (kernel: MemoryKernel) => kernel.links.map(({ peer, ...link }) => ({ ...link, peer: peer?.index }));

it.each(CONFIGS)("an ADD %s leaves nothing behind, whichever of its requests the kernel refuses", (_, config) => {
  for (const withBridge of [false, true]) {
    const whole = freshKernel(withBridge);
    const { host, leases } = add(whole, config);
    expect([host.exitCode, leases, host.stdout]).toEqual([0, "ipam" in config ? 1 : 0, expect.any(String)]);
    let failed = 0;
    for (let refused = 1; refused <= whole.requests; refused++) {
      const kernel = freshKernel(withBridge);
      const before = state(kernel);
      kernel.refuseRequest = refused;
      const run = add(kernel, config);
      if (run.host.exitCode === 0) continue;
      failed++;
      const about = `request ${refused} of ${whole.requests}`;
      expect(run.host.answer(), about).toMatchObject({ code: 11 });
      expect([state(kernel), run.leases], about).toEqual([before, 0]);
    }
    expect(failed).toBeGreaterThan(whole.requests / 2);
  }
});
