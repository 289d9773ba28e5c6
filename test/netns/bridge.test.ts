import { describe, expect, it } from "vitest";
import { hostInterfaceName } from "../../cni-plugins/bridge/attachment.ts";
import { add, type CniCall, cni, del } from "./cni-call.ts";
import { call, container, freshNode, node, testbed } from "./fresh-node.ts";

const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };
const MAC = "02:5d:1c:00:00:a3";

freshNode();

/** Names of the node's links. */
async function nodeLinks(): Promise<string[]> {
  return (await node.links()).map(({ ifname }) => ifname);
}

describe("ADD", () => {
  it("puts an interface with the wanted MAC into the container and its other end on the bridge", async () => {
    await node.ip("link", "add", "br1", "type", "bridge");
    const before = await node.link("br1");
    const result = await add(call, { ...CONFIG, runtimeConfig: { mac: MAC.toUpperCase() } });
    const inside = await container.link("net1");
    expect(inside).toMatchObject({ address: MAC, mtu: 1500, linkinfo: { info_kind: "veth" } });
    expect(inside?.flags).toContain("LOWER_UP");
    const port = await node.link(result.interfaces[1]?.name ?? "");
    expect(port).toMatchObject({ master: "br1", operstate: "UP", ifalias: "cni-bridge:br1-net/container/net1" });
    expect(port?.ifname).toMatch(/^veth[0-9a-f]{8}$/);
    expect(port?.linkinfo?.info_slave_data).toMatchObject({ state: "forwarding", hairpin: false, isolated: false });
    expect(await node.link("br1")).toMatchObject({ ifindex: before?.ifindex, operstate: "UP" });
  });

  it("marks the port also where network and container need all of an alias' 255 bytes", async () => {
    const name = "n".repeat(255 - "cni-bridge:/container/net1".length);
    await add(call, { ...CONFIG, name });
    const aliases = (await node.links()).map(({ ifalias }) => ifalias);
    expect(aliases).toContain(`cni-bridge:${name}/container/net1`);
    await del(call, { ...CONFIG, name });
    expect(await nodeLinks()).toEqual(["lo", "br1"]);
  });

  it.each(["0.3.0", "0.3.1", "0.4.0", "1.0.0"])("answers in version %s", async (cniVersion) => {
    const dns = { nameservers: ["10.0.0.1"], search: ["example.com"] };
    const result = await add(call, { ...CONFIG, cniVersion, dns, args: { cni: { mac: MAC } } });
    const port = result.interfaces[1]?.name ?? "";
    expect(result).toEqual({
      cniVersion,
      interfaces: [
        { name: "br1", mac: (await node.link("br1"))?.address },
        { name: port, mac: (await node.link(port))?.address },
        { name: "net1", mac: MAC, sandbox: container.path },
      ],
      dns,
    });
  });

  it("answers in version 1.1.0 with the MTU", async () => {
    const result = await add(call, { ...CONFIG, cniVersion: "1.1.0", mtu: 1400 });
    expect(result.interfaces.map(({ mtu }) => mtu)).toEqual([1400, 1400, 1400]);
    expect((await container.link("net1"))?.mtu).toBe(1400);
  });

  it.each(["0.1.0", "0.2.0"])("makes nothing when version %s can't express the result", async (cniVersion) => {
    const before = await testbed.state(container);
    const { code, json } = await cni("ADD", call, { ...CONFIG, cniVersion });
    expect([code, json]).toEqual([1, { cniVersion, code: 1, msg: expect.stringContaining("0.3.1 or later") }]);
    expect(await testbed.state(container)).toBe(before);
  });

  it.each([
    ["colons", MAC.toUpperCase()],
    ["hyphens", "02-5d-1c-00-00-a3"],
    ["dots", "025d.1c00.00a3"],
    ["digits alone", "025D1C0000a3"],
  ])("takes a MAC in %s from the runtime, from args, and from CNI_ARGS as multus passes it", async (_, mac) => {
    const CNI_ARGS = `K8S_POD_NAME=web;MAC=${mac};IgnoreUnknown=true`;
    for (const [config, env] of [
      [{ runtimeConfig: { mac } }, {}],
      [{ args: { cni: { mac } } }, {}],
      [{}, { CNI_ARGS }],
    ] as const) {
      const result = await add({ ...call, env }, { ...CONFIG, ...config });
      expect((await container.link("net1"))?.address).toBe(MAC);
      expect(result.interfaces[2]).toMatchObject({ name: "net1", mac: MAC });
      await del({ ...call, env }, { ...CONFIG, ...config });
    }
  });

  it("chooses a local unicast MAC when none is wanted", async () => {
    await add(call, CONFIG);
    const first = Number.parseInt((await container.link("net1"))?.address.slice(0, 2) ?? "", 16);
    expect(first & 3).toBe(2);
  });

  it("sets what the configuration says of the port and the bridge", async () => {
    const result = await add(call, { ...CONFIG, portIsolation: true, promiscMode: true });
    const port = await node.link(result.interfaces[1]?.name ?? "");
    expect(port?.linkinfo?.info_slave_data).toMatchObject({ hairpin: false, isolated: true });
    expect((await node.link("br1"))?.promiscuity).toBe(1);
    await del(call, CONFIG);
    const hairpin = await add(call, { ...CONFIG, hairpinMode: true });
    const other = await node.link(hairpin.interfaces[1]?.name ?? "");
    expect(other?.linkinfo?.info_slave_data).toMatchObject({ hairpin: true, isolated: false });
  });

  it("leaves the container's interface down when told to", async () => {
    await add(call, { ...CONFIG, disableContainerInterface: true });
    expect((await container.link("net1"))?.flags).not.toContain("UP");
  });

  it("keeps an interface quiet whose MTU is too small for IPv6 too", async () => {
    await add(call, { ...CONFIG, quiet: true, mtu: 1000 });
    expect(await container.link("net1")).toMatchObject({ mtu: 1000, operstate: "UP" });
  });

  const acceptRa = async () => {
    const { stdout } = await node.run(["/bin/cat", "/proc/sys/net/ipv6/conf/br1/accept_ra"]);
    return stdout.trim();
  };

  it.each<[string, string[], string]>([
    ["makes the bridge, deaf to router advertisements,", [], "0"],
    ["brings a bridge that is down up, deaf to router advertisements,", ["down"], "0"],
    ["leaves a bridge that is up as it is", ["up"], "1"],
  ])("%s", async (_, existing, expected) => {
    const [state] = existing;
    if (state !== undefined) await node.ip("link", "add", "br1", "mtu", "1450", state, "type", "bridge");
    await add(call, { ...CONFIG, mtu: 1450 });
    expect(await node.link("br1")).toMatchObject({ mtu: 1450, operstate: "UP" });
    expect(await acceptRa()).toBe(expected);
  });

  it("takes another name for its end when somebody else has the first one, which DEL leaves alone", async () => {
    const attachment = { network: CONFIG.name, containerId: "container", ifname: "net1" };
    const [first, second] = [0, 1].map((candidate) => hostInterfaceName(attachment, candidate));
    await node.ip("link", "add", first ?? "", "type", "veth", "peer", "name", "other");
    await node.ip("link", "set", first ?? "", "alias", "somebody else's");
    const { interfaces } = await add(call, CONFIG);
    expect(interfaces[1]?.name).toBe(second);
    await del(call, CONFIG);
    expect(await nodeLinks()).toEqual(["lo", "other", first, "br1"]);
  });

  it("refuses a second interface of the same name and leaves the first undisturbed", async () => {
    await add(call, CONFIG);
    const before = await testbed.state(container);
    const { code, json } = await cni("ADD", call, CONFIG);
    expect([code, json?.code]).toEqual([1, 102]);
    expect(await testbed.state(container)).toBe(before);
  });

  it("carries frames between two containers as soon as it returns", async () => {
    const other = await testbed.container();
    await add(call, CONFIG);
    await add({ ...call, container: other, containerId: "other" }, CONFIG);
    await container.ip("address", "add", "10.9.0.1/24", "dev", "net1");
    await other.ip("address", "add", "10.9.0.2/24", "dev", "net1");
    const answer = `(socket) => { socket.end("over the bridge"); server.close(); }`;
    const serve = `const server = require("net").createServer(${answer}); server.listen(7, "10.9.0.1")`;
    const connect = `require("net").connect(7, "10.9.0.1").on("error", () => setTimeout(go, 20)).pipe(process.stdout)`;
    const serving = container.run([process.execPath, "-e", serve]);
    const received = await other.run([process.execPath, "-e", `const go = () => { ${connect} }; go()`]);
    expect(received.stdout).toBe("over the bridge");
    expect((await serving).code).toBe(0);
  });

  it("succeeds fifty times at once on a bridge that none of them finds, and so do the DELs, each with its pair gone", async () => {
    const containers = await Promise.all(Array.from({ length: 50 }, () => testbed.container()));
    const calls = containers.map((one, i): CniCall => ({ node, container: one, containerId: `c${i}` }));
    const results = await Promise.all(calls.map((one) => add(one, CONFIG)));
    expect(new Set(results.map(({ interfaces }) => interfaces[1]?.name)).size).toBe(50);
    expect((await node.links()).filter(({ master }) => master === "br1")).toHaveLength(50);
    const delAndLook = async (one: CniCall) => {
      await del(one, CONFIG);
      expect(await one.container?.link("net1")).toBeUndefined();
    };
    await Promise.all(calls.map(delAndLook));
    expect(await nodeLinks()).toEqual(["lo", "br1"]);
  });
});

describe("DEL", () => {
  it("removes both ends and may be called again", async () => {
    await add(call, CONFIG);
    for (let i = 0; i < 3; i++) await del(call, CONFIG);
    expect(await nodeLinks()).toEqual(["lo", "br1"]);
    expect(await container.link("net1")).toBeUndefined();
  });

  it("works without the namespace, which may be gone or not", async () => {
    await add(call, CONFIG);
    await del({ node }, CONFIG);
    expect(await nodeLinks()).toEqual(["lo", "br1"]);
    await del({ node, env: { CNI_NETNS: "/run/netns/gone" } }, CONFIG);
  });

  it("finds the pair after the guest's network setup renamed it, changed its MAC and put a stand-in under its name", async () => {
    await add(call, CONFIG);
    await container.ip("link", "set", "net1", "down");
    await container.ip("link", "set", "net1", "name", "0a1b2c-nic");
    await container.ip("link", "set", "0a1b2c-nic", "address", "02:00:00:00:00:99");
    await container.ip("link", "add", "net1", "type", "bridge");
    await del(call, CONFIG);
    expect(await nodeLinks()).toEqual(["lo", "br1"]);
    expect((await container.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
  });

  it("leaves the interface of a new container that has the old one's namespace by now", async () => {
    await add(call, CONFIG);
    const before = await testbed.state(container);
    await del({ ...call, containerId: "old" }, CONFIG);
    expect(await testbed.state(container)).toBe(before);
    await del(call, { ...CONFIG, name: "renamed-net" });
    expect(await container.link("net1")).toBeUndefined();
  });

  it("removes only its own attachment", async () => {
    await add(call, CONFIG);
    await add({ ...call, ifname: "net2" }, CONFIG);
    await add({ ...call, ifname: "net3" }, { ...CONFIG, name: "other-net" });
    await del(call, CONFIG);
    await del({ node, ifname: "net3" }, CONFIG);
    expect((await container.links()).map(({ ifname }) => ifname)).toEqual(["lo", "net2", "net3"]);
  });
});

describe("CHECK, GC and STATUS", () => {
  const inside = (...change: string[]) => container.ip("link", "set", "net1", ...change);
  it.each<[string, (port: string) => Promise<unknown>, string]>([
    ["the port left the bridge", (port) => node.ip("link", "set", port, "nomaster"), "not a port of bridge br1"],
    ["the port is down", (port) => node.ip("link", "set", port, "down"), "is down"],
    [
      "the port lost its hairpin mode",
      (port) => node.ip("link", "set", port, "type", "bridge_slave", "hairpin", "off"),
      "hairpin mode is not true",
    ],
    [
      "the port was isolated",
      (port) => node.ip("link", "set", port, "type", "bridge_slave", "isolated", "on"),
      "isolation is not false",
    ],
    ["the pair is gone", (port) => node.ip("link", "delete", port), "net1 not found"],
    ["the container's end is down", () => inside("down"), "net1 is down"],
    ["the container's end has another MAC", () => inside("address", "02:00:00:00:00:99"), "has MAC 02:00:00:00:00:99"],
  ])("CHECK is content until %s", async (_, change, message) => {
    const config = { ...CONFIG, hairpinMode: true };
    const prevResult = await add(call, config);
    expect(await cni("CHECK", call, { ...config, prevResult })).toMatchObject({ code: 0, stdout: "" });
    await change(prevResult.interfaces[1]?.name ?? "");
    const { code, json } = await cni("CHECK", call, { ...config, prevResult });
    expect([code, json]).toEqual([1, expect.objectContaining({ code: 106, msg: expect.stringContaining(message) })]);
  });

  it("CHECK needs the result of the ADD", async () => {
    await add(call, CONFIG);
    const { json } = await cni("CHECK", call, CONFIG);
    expect(json).toMatchObject({ code: 7, msg: expect.stringContaining('"prevResult"') });
  });

  it.each<[string, object]>([
    ["that was configured", { mtu: 1400 }],
    ["that its result says", { cniVersion: "1.1.0" }],
  ])("CHECK notices that the port has not the MTU %s", async (_, keys) => {
    const config = { ...CONFIG, ...keys };
    const prevResult = await add(call, config);
    expect(await cni("CHECK", call, { ...config, prevResult })).toMatchObject({ code: 0, stdout: "" });
    await node.ip("link", "set", prevResult.interfaces[1]?.name ?? "", "mtu", "1300");
    const { json } = await cni("CHECK", call, { ...config, prevResult });
    expect(json).toMatchObject({ code: 106, msg: expect.stringMatching(/veth\w+ has MTU 1300, not 1[45]00/) });
  });

  it("GC removes what the runtime does not list", async () => {
    await add(call, CONFIG);
    await add({ ...call, ifname: "net2" }, CONFIG);
    const listed = [{ containerID: "container", ifname: "net2" }];
    const config = { ...CONFIG, cniVersion: "1.1.0", "cni.dev/valid-attachments": listed };
    expect(await cni("GC", { node }, config)).toMatchObject({ code: 0, stdout: "" });
    expect((await container.links()).map(({ ifname }) => ifname)).toEqual(["lo", "net2"]);
  });

  it("STATUS is silent when a container could be attached, and refuses a wrong configuration", async () => {
    const config = { ...CONFIG, cniVersion: "1.1.0" };
    expect(await cni("STATUS", { node }, config)).toMatchObject({ code: 0, stdout: "" });
    expect((await cni("STATUS", { node }, { ...config, mtu: 5 })).json).toMatchObject({ code: 7 });
  });
});
