/** ADD, and the DEL after it, where the kernel fails or somebody else is faster; the rest is for `test/netns`. */

import { beforeEach, describe, expect, it } from "vitest";
import { hostInterfaceName } from "../../../cni-plugins/bridge/attachment.ts";
import { bridge } from "../../../cni-plugins/bridge/bridge.ts";
import { runPlugin } from "../../../cni-plugins/cni/plugin.ts";
import { MemoryKernel } from "../memory-kernel.ts";
import { MemorySyscalls } from "../memory-syscalls.ts";

const NETNS = "/run/netns/pod";
const ENV = { CNI_CONTAINERID: "pod-1", CNI_NETNS: NETNS, CNI_IFNAME: "net1", CNI_PATH: "/bin" };
const NETWORK = { cniVersion: "1.0.0", name: "net", type: "bridge", bridge: "br1" };
const PORT = hostInterfaceName({ network: "net", containerId: "pod-1", ifname: "net1" });
const IPAM_ANSWER = JSON.stringify({ cniVersion: "1.0.0", ips: [{ address: "10.1.0.2/24" }] });

const CONFIGS: readonly [string, object][] = [
  ["on layer 2", { hairpinMode: true, portIsolation: true }],
  ["with a gateway in a VLAN", { vlan: 7, isGateway: true, ipam: { type: "ipam" } }],
];

let kernel: MemoryKernel;
/** Addresses that the IPAM plugin gave and did not get back. */
let leases: number;

beforeEach(() => freshKernel(false));

function freshKernel(withBridge: boolean): void {
  kernel = new MemoryKernel();
  kernel.namespaces.add(NETNS);
  if (withBridge) kernel.addLink({ name: "br1", filtering: true });
  leases = 0;
}

function call(command: string, config: object = {}, onPoll = () => {}): MemorySyscalls {
  const syscalls = new MemorySyscalls(
    kernel,
    { ...ENV, CNI_COMMAND: command },
    JSON.stringify({ ...NETWORK, ...config }),
  );
  syscalls.files["/proc/sys/net/ipv4/ip_forward"] = "1";
  syscalls.programs["/bin/ipam"] = ({ assignments }) => {
    leases += assignments.includes("CNI_COMMAND=ADD") ? 1 : -1;
    return { stdout: IPAM_ANSWER };
  };
  syscalls.onPoll = onPoll;
  runPlugin(syscalls, bridge);
  return syscalls;
}

/** Everything that a call could leave behind, without what points in circles. */
const state = () => kernel.links.map(({ peer, ...link }) => ({ ...link, peer: peer?.index }));
const names = () => kernel.links.map(({ name }) => name);

/** Does something each time before a request is sent. */
function beforeSending(action: () => void): void {
  const send = kernel.netlinkSend.bind(kernel);
  kernel.netlinkSend = (fd, bytes) => {
    action();
    send(fd, bytes);
  };
}

it.each(CONFIGS)("an ADD %s leaves nothing behind, whichever of its requests the kernel refuses", (_, config) => {
  for (const withBridge of [false, true]) {
    freshKernel(withBridge);
    expect(call("ADD", config).exitCode).toBe(0);
    expect(leases).toBe("ipam" in config ? 1 : 0);
    const { requests } = kernel;
    let failed = 0;
    for (let refused = 1; refused <= requests; refused++) {
      freshKernel(withBridge);
      const before = state();
      kernel.refuseRequest = refused;
      const syscalls = call("ADD", config);
      if (syscalls.exitCode === 0) continue;
      failed++;
      const about = `request ${refused} of ${requests}`;
      expect(syscalls.answer(), about).toMatchObject({ code: 11 });
      expect([state(), leases], about).toEqual([before, 0]);
    }
    expect(failed).toBeGreaterThan(requests / 2);
  }
});

describe("ADD", () => {
  it("waits until the port forwards", () => {
    kernel.carrier = false;
    let waits = 0;
    const syscalls = call("ADD", {}, () => {
      kernel.carrier = ++waits === 3;
      kernel.changeLink(kernel.find(PORT) ?? kernel.addLink({ name: PORT }), {});
    });
    expect([syscalls.exitCode, waits]).toEqual([0, 3]);
  });

  it("gives up on a port that never forwards and takes back what it made", () => {
    kernel.carrier = false;
    expect(call("ADD").answer()).toMatchObject({ code: 105, msg: expect.stringContaining(PORT) });
    expect(state()).toEqual([]);
  });

  it("keeps a bridge it made when another container uses it by then", () => {
    call("ADD");
    const { requests } = kernel;
    freshKernel(false);
    kernel.refuseRequest = requests;
    beforeSending(() => {
      const made = kernel.find("br1");
      if (made !== undefined && kernel.find("other") === undefined)
        kernel.addLink({ name: "other", kind: "veth", master: made.index });
    });
    expect(call("ADD").exitCode).toBe(1);
    expect(names()).toEqual(["br1", "other"]);
  });

  it("begins again when the bridge is deleted under its hands", () => {
    const doomed = kernel.addLink({ name: "br1" });
    let sends = 0;
    beforeSending(() => {
      if (++sends === 2) kernel.removeLink(doomed);
    });
    expect(call("ADD").exitCode).toBe(0);
    expect(kernel.find(PORT)?.master).toBe(kernel.find("br1")?.index);
  });

  it("asks of a bridge that somebody made anew meanwhile what it asked of the one before", () => {
    const doomed = kernel.addLink({ name: "br1", filtering: true });
    let sends = 0;
    beforeSending(() => {
      if (++sends !== 2) return;
      kernel.removeLink(doomed);
      kernel.addLink({ name: "br1" });
    });
    expect(call("ADD", { vlan: 7, requireVlanFiltering: true }).answer()).toMatchObject({ code: 7 });
    expect(names()).toEqual(["br1"]);
  });
});
