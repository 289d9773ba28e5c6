import { beforeEach, describe, expect, it } from "vitest";
import { hostInterfaceAlias, hostInterfaceName } from "../../../cni-plugins/bridge/attachment.ts";
import { bridge } from "../../../cni-plugins/bridge/bridge.ts";
import { runPlugin } from "../../../cni-plugins/protocol/plugin.ts";
import { MemoryHost } from "../memory-host.ts";
import { MemoryKernel } from "../memory-kernel.ts";
import type { MemoryLink } from "../memory-link.ts";

const NETNS = "/run/netns/pod";
const ATTACHMENT = { network: "net", containerId: "pod-1", ifname: "net1" };
const PORT = hostInterfaceName(ATTACHMENT);

let kernel: MemoryKernel;

beforeEach(() => {
  kernel = new MemoryKernel();
  kernel.namespaces.add(NETNS);
});

function call(command: string, config: object, env: Record<string, string> = {}, onPoll = () => {}): MemoryHost {
  const { containerId, ifname, network } = ATTACHMENT;
  const base = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: containerId,
    CNI_NETNS: NETNS,
    CNI_IFNAME: ifname,
    CNI_PATH: "/bin",
  };
  const stdin = JSON.stringify({ cniVersion: "1.0.0", name: network, type: "bridge", bridge: "br1", ...config });
  const host = new MemoryHost(kernel, { ...base, ...env }, stdin);
  host.onPoll = onPoll;
  runPlugin(host, bridge);
  return host;
}

/** Everything of the kernel that a call could leave behind, without what points in circles. */
function state(): object[] {
  return kernel.links.map(({ peer, ...link }: MemoryLink) => ({ ...link, peer: peer?.index }));
}

describe("ADD", () => {
  it("connects the container to the bridge by a veth pair that names its attachment", () => {
    const existing = kernel.addLink({ name: "br1" });
    const host = call("ADD", { runtimeConfig: { mac: "02:00:00:00:00:01" } });
    expect(host.exitCode).toBe(0);
    const port = kernel.find(PORT);
    expect(port).toMatchObject({
      kind: "veth",
      master: existing.index,
      up: true,
      alias: hostInterfaceAlias(ATTACHMENT),
    });
    const inside = kernel.find("net1", NETNS);
    expect(inside).toMatchObject({ up: true, mtu: 1500, mac: new Uint8Array([2, 0, 0, 0, 0, 1]) });
    expect(host.answer()).toMatchObject({
      cniVersion: "1.0.0",
      interfaces: [{ name: "br1" }, { name: PORT }, { name: "net1", mac: "02:00:00:00:00:01", sandbox: NETNS }],
    });
  });

  it("makes the bridge, deaf to router advertisements, when there is none", () => {
    const host = call("ADD", { mtu: 1400 });
    expect(kernel.find("br1")).toMatchObject({ kind: "bridge", up: true, mtu: 1400 });
    expect(host.files).toMatchObject({ "/proc/sys/net/ipv6/conf/br1/accept_ra": "0" });
  });

  it.each([
    ["up", []],
    ["down, but brings it up deaf to router advertisements", ["/proc/sys/net/ipv6/conf/br1/accept_ra"]],
  ])("leaves a bridge as it is that is %s", (which, written) => {
    const existing = kernel.addLink({ name: "br1", up: which === "up", mtu: 9000 });
    const host = call("ADD", { mtu: 1400 });
    expect(kernel.find("br1")).toMatchObject({ index: existing.index, up: true, mtu: 9000 });
    expect(Object.keys(host.files).filter((file) => file.includes("/br1/"))).toEqual(written);
  });

  it("gives the port the flags that the configuration names", () => {
    call("ADD", { hairpinMode: true, portIsolation: true });
    expect(kernel.find(PORT)).toMatchObject({ hairpin: true, isolated: true });
  });

  it("makes the bridge promiscuous when told to", () => {
    call("ADD", { promiscMode: true });
    expect(kernel.find("br1")).toMatchObject({ promiscuous: true });
  });

  it("leaves the container's interface down when told to", () => {
    expect(call("ADD", { disableContainerInterface: true }).exitCode).toBe(0);
    expect(kernel.find("net1", NETNS)).toMatchObject({ up: false });
  });

  it("waits until the port forwards", () => {
    kernel.carrier = false;
    let waits = 0;
    const host = call("ADD", {}, {}, () => {
      kernel.carrier = ++waits === 3;
      kernel.changeLink(kernel.find(PORT) ?? kernel.addLink({ name: PORT }), {});
    });
    expect([host.exitCode, waits]).toEqual([0, 3]);
  });

  it("gives up on a port that never forwards and takes back what it made", () => {
    kernel.carrier = false;
    expect(call("ADD", {}).answer()).toMatchObject({ code: 105, msg: expect.stringContaining(PORT) });
    expect(state()).toEqual([]);
  });

  it("takes another name for its end when somebody else has the first one", () => {
    kernel.addLink({ name: PORT, kind: "dummy", alias: "not ours" });
    expect(call("ADD", {}).exitCode).toBe(0);
    expect(kernel.find(hostInterfaceName(ATTACHMENT, 1))).toMatchObject({ alias: hostInterfaceAlias(ATTACHMENT) });
    expect(kernel.find(PORT)).toMatchObject({ kind: "dummy", alias: "not ours" });
  });

  it("refuses a second attachment of the same name and leaves the first undisturbed", () => {
    call("ADD", {});
    const before = state();
    const host = call("ADD", {});
    expect(host.exitCode).toBe(1);
    expect(host.answer()).toMatchObject({ code: 102, msg: expect.stringContaining("interface net1 already exists") });
    expect(state()).toEqual(before);
  });

  it("refuses a bridge name that belongs to another kind of interface", () => {
    kernel.addLink({ name: "br1", kind: "vxlan" });
    expect(call("ADD", {}).answer()).toMatchObject({ code: 103, msg: expect.stringContaining('"br1" is a vxlan') });
  });

  it("refuses its own namespace before it touches anything", () => {
    const host = call("ADD", {}, { CNI_NETNS: "node" });
    expect(host.answer()).toMatchObject({ code: 8 });
    expect(state()).toEqual([]);
  });

  it("takes its own namespace when the runtime insists", () => {
    expect(call("ADD", {}, { CNI_NETNS: "node", CNI_NETNS_OVERRIDE: "true" }).exitCode).toBe(0);
  });

  it("keeps a bridge it made when another container uses it by then", () => {
    kernel.refuseRequest = 0;
    call("ADD", {});
    const requests = kernel.requests;
    kernel = new MemoryKernel();
    kernel.namespaces.add(NETNS);
    kernel.refuseRequest = requests;
    const host = new MemoryHost(kernel);
    host.close(host.netlinkOpen(-1, 0));
    const original = kernel.netlinkSend.bind(kernel);
    kernel.netlinkSend = (fd, bytes) => {
      const made = kernel.find("br1");
      if (made !== undefined && kernel.find("other") === undefined)
        kernel.addLink({ name: "other", kind: "veth", master: made.index });
      original(fd, bytes);
    };
    expect(call("ADD", {}).exitCode).toBe(1);
    expect(kernel.links.map(({ name }) => name)).toEqual(["br1", "other"]);
  });

  it("begins again when the bridge is deleted under its hands", () => {
    const doomed = kernel.addLink({ name: "br1" });
    const original = kernel.netlinkSend.bind(kernel);
    let sends = 0;
    kernel.netlinkSend = (fd, bytes) => {
      if (++sends === 2) kernel.removeLink(doomed);
      original(fd, bytes);
    };
    expect(call("ADD", {}).exitCode).toBe(0);
    expect(kernel.find(PORT)?.master).toBe(kernel.find("br1")?.index);
  });
});

describe("DEL", () => {
  it("removes both ends", () => {
    call("ADD", {});
    const host = call("DEL", {});
    expect(host).toMatchObject({ exitCode: 0, stdout: "" });
    expect(kernel.links.map(({ name }) => name)).toEqual(["br1"]);
  });

  /** For spoof checks and for masquerading; the kernel's lock for links is not taken. */
  const LOOKS_FOR_RULES = 2;

  it.each([true, false])("succeeds when there is nothing to remove (the kernel tells so: %s)", (tells) => {
    kernel.tellsOfInterfaces = tells;
    expect(call("DEL", {})).toMatchObject({ exitCode: 0, stdout: "" });
    expect(call("DEL", {}, { CNI_NETNS: "/run/netns/gone" })).toMatchObject({ exitCode: 0, stdout: "" });
    if (tells) expect(kernel.requests).toBe(2 * LOOKS_FOR_RULES);
  });

  it.each(["", "/run/netns/gone"])("removes the pair without the container's namespace (CNI_NETNS %j)", (netns) => {
    call("ADD", {});
    expect(call("DEL", {}, { CNI_NETNS: netns }).exitCode).toBe(0);
    expect(kernel.find(PORT)).toBeUndefined();
  });

  it("removes the pair after the guest's network setup renamed the container's end and put another in its place", () => {
    call("ADD", {});
    Object.assign(kernel.find("net1", NETNS) ?? {}, { name: "abc-nic", mac: new Uint8Array(6) });
    kernel.addLink({ name: "net1", namespace: NETNS, kind: "dummy" });
    call("DEL", {});
    expect(kernel.links.map(({ name }) => name)).toEqual(["br1"]);
  });

  it("leaves an interface alone that has the pair's name but not its alias", () => {
    kernel.addLink({ name: PORT, kind: "veth", alias: "somebody else's" });
    call("DEL", {}, { CNI_NETNS: "" });
    expect(kernel.find(PORT)).toBeDefined();
  });

  it("removes what it made even when today's configuration is wrong, and says so", () => {
    call("ADD", {});
    const host = call("DEL", { vlan: "one", ipam: "host-local" });
    expect(host.exitCode).toBe(0);
    expect(host.stderr).toContain('"ipam" must be an object');
    expect(kernel.find(PORT)).toBeUndefined();
  });

  it("refuses its own namespace and leaves the pair", () => {
    call("ADD", {});
    expect(call("DEL", {}, { CNI_NETNS: "node" }).answer()).toMatchObject({ code: 8 });
    expect(kernel.find(PORT)).toBeDefined();
  });
});

describe("CHECK", () => {
  const config = { hairpinMode: true, mtu: 1400 };

  function addAndCheck(spoil: (port: MemoryLink, inside: MemoryLink) => void): MemoryHost {
    const prevResult = call("ADD", config).answer();
    const port = kernel.find(PORT);
    const inside = kernel.find("net1", NETNS);
    if (port === undefined || inside === undefined) throw new Error("ADD made nothing");
    spoil(port, inside);
    return call("CHECK", { ...config, prevResult });
  }

  it("is content with what ADD made", () => {
    expect(addAndCheck(() => {})).toMatchObject({ exitCode: 0, stdout: "" });
  });

  it.each<[string, (port: MemoryLink, inside: MemoryLink) => void, RegExp]>([
    ["the MAC was changed", (_, inside) => inside.mac.fill(6), /has MAC 06:06/],
    ["the MTU was changed", (_, inside) => Object.assign(inside, { mtu: 1300 }), /MTU 1300, not 1400/],
    ["the container's end is down", (_, inside) => Object.assign(inside, { up: false }), /net1 is down/],
    ["the container's end is gone", (port) => kernel.removeLink(port), /net1 not found/],
    ["the port left the bridge", (port) => Object.assign(port, { master: 0 }), /not a port of bridge br1/],
    ["the port lost its hairpin flag", (port) => Object.assign(port, { hairpin: false }), /hairpin mode is not true/],
    ["the port was isolated", (port) => Object.assign(port, { isolated: true }), /isolation is not false/],
  ])("says so when %s", (_, spoil, message) => {
    expect(addAndCheck(spoil).answer()).toMatchObject({ code: 106, msg: expect.stringMatching(message) });
  });

  it("needs the result of the ADD", () => {
    call("ADD", config);
    expect(call("CHECK", config).answer()).toMatchObject({ code: 7, msg: expect.stringContaining("prevResult") });
  });
});

describe("GC and STATUS", () => {
  it("removes this network's attachments that the runtime does not list, and no others", () => {
    call("ADD", {});
    call("ADD", {}, { CNI_IFNAME: "net2" });
    call("ADD", { name: "other" }, { CNI_IFNAME: "net3" });
    const valid = [{ containerID: "pod-1", ifname: "net2" }];
    expect(call("GC", { cniVersion: "1.1.0", "cni.dev/valid-attachments": valid }).exitCode).toBe(0);
    const left = kernel.links.filter(({ namespace }) => namespace === NETNS).map(({ name }) => name);
    expect(left).toEqual(["net2", "net3"]);
  });

  it("removes nothing when the runtime lists nothing at all", () => {
    call("ADD", {});
    expect(call("GC", { cniVersion: "1.1.0" }).answer()).toMatchObject({ code: 7 });
    expect(kernel.find(PORT)).toBeDefined();
  });

  it("says that a good configuration is ready and a bad one is not", () => {
    expect(call("STATUS", { cniVersion: "1.1.0" })).toMatchObject({ exitCode: 0, stdout: "" });
    expect(call("STATUS", { cniVersion: "1.1.0", mtu: 5 }).answer()).toMatchObject({ code: 7 });
  });
});
