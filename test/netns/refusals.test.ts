import { describe, expect, it } from "vitest";
import { cni } from "./cni-call.ts";
import { call, container, freshNode, node, testbed } from "./fresh-node.ts";

const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };

freshNode();

describe("a refused ADD leaves the kernel as it was", () => {
  it.each<[string, object | string | Buffer, number, string]>([
    ["no JSON", "{", 6, "not valid JSON"],
    ["no object", "[]", 6, "must be a JSON object"],
    ["nothing", "", 6, "not valid JSON"],
    ["deep nesting", "[".repeat(500_000), 6, "is nested too deeply"],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), 5, "is not UTF-8: correct its encoding"],
    ["more than a megabyte", JSON.stringify({ ...CONFIG, extra: "x".repeat(1 << 20) }), 5, "more than 1048576 bytes"],
    ["more values than fit", `[${"{},".repeat(340_000)}{}]`, 6, "too many values for the plugin's memory"],
    ["an unknown version", { ...CONFIG, cniVersion: "9.0.0" }, 1, "incompatible CNI versions"],
    ["no name", { ...CONFIG, name: undefined }, 7, '"name"'],
    ["a wrong type", { ...CONFIG, portIsolation: "yes" }, 7, '"portIsolation" must be true or false'],
    ["a wrong MAC", { ...CONFIG, runtimeConfig: { mac: "02:00" } }, 7, 'runtimeConfig.mac: "02:00"'],
    ["an MTU that no interface can have", { ...CONFIG, mtu: 70_000 }, 7, '"mtu"'],
    ["a bridge that is no bridge", { ...CONFIG, bridge: "lo" }, 103, '"lo" is a device, not a bridge'],
    [
      "an IPAM plugin that is not there",
      { ...CONFIG, ipam: { type: "nowhere" } },
      107,
      'failed to find plugin "nowhere"',
    ],
    ["the plugin itself as IPAM plugin", { ...CONFIG, ipam: { type: "bridge" } }, 7, "is this plugin itself"],
    ["an IPAM plugin with a path", { ...CONFIG, ipam: { type: "../host-local" } }, 7, '"ipam.type"'],
    ["a bridge that the kernel would number anew each time", { ...CONFIG, bridge: "br%d" }, 7, '"br%d" contains "%"'],
    ["a bridge with a nul", { ...CONFIG, bridge: "br\0" }, 7, "contains a control character"],
    [
      "a gateway whose interface would have too long a name",
      { ...CONFIG, bridge: "bridge-of-12", vlan: 1000, isGateway: true, ipam: { type: "static" } },
      7,
      '"bridge": "bridge-of-12" needs the interface "bridge-of-12.1000"',
    ],
    ["a VLAN beyond all VLANs", { ...CONFIG, vlan: 4095 }, 7, '"vlan" must be'],
    ["an unknown back end", { ...CONFIG, ipMasqBackend: "pf" }, 7, '"ipMasqBackend"'],
    [
      "ipam with disableContainerInterface",
      { ...CONFIG, ipam: { type: "static" }, disableContainerInterface: true },
      7,
      "exclude each other",
    ],
    ["hairpinMode with promiscMode", { ...CONFIG, hairpinMode: true, promiscMode: true }, 7, "exclude each other"],
  ])("for %s", async (_, config, errorCode, message) => {
    const before = await testbed.state(container);
    const { code, stdout, json } = await cni("ADD", call, config);
    expect([code, json?.code]).toEqual([1, errorCode]);
    expect(json?.msg).toContain(message);
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(await testbed.state(container)).toBe(before);
  });

  it("for a name that the container has already, although the bridge was made first", async () => {
    await container.ip("link", "add", "net1", "type", "bridge");
    const before = await testbed.state(container);
    const { json } = await cni("ADD", call, CONFIG);
    expect(json).toMatchObject({ code: 102, msg: expect.stringContaining("interface net1 already exists") });
    expect(await testbed.state(container)).toBe(before);
  });

  it("for a bridge that has as many ports as the kernel allows", async () => {
    const ports = Array.from({ length: 1023 }, (_, i) => `link add p${i} master br1 type veth peer name q${i}\n`);
    const input = `link add br1 up type bridge\n${ports.join("")}`;
    expect(await node.run(["ip", "-batch", "-"], { env: { PATH: process.env.PATH ?? "" }, input })).toMatchObject({
      code: 0,
    });
    const { json } = await cni("ADD", call, CONFIG);
    expect(json).toMatchObject({ code: 101, msg: expect.stringContaining("bridge br1 has 1023 ports, the most that") });
    expect(await container.link("net1")).toBeUndefined();
    expect(await node.links()).toHaveLength(2048);
  });

  it("for a pattern as the interface's name", async () => {
    const before = await testbed.state(container);
    const { json } = await cni("ADD", { ...call, env: { CNI_IFNAME: "net%d" } }, CONFIG);
    expect(json).toMatchObject({ code: 4, msg: 'CNI_IFNAME "net%d" contains "%": choose another name' });
    expect(await testbed.state(container)).toBe(before);
  });

  it("for a path that is no namespace", async () => {
    await node.ip("link", "add", "br1", "type", "bridge");
    const before = await testbed.state(container);
    const { json } = await cni("ADD", { ...call, env: { CNI_NETNS: "/proc/self/status" } }, CONFIG);
    expect(json).toMatchObject({ code: 104, msg: expect.stringContaining("is not a network namespace") });
    expect(await testbed.state(container)).toBe(before);
  });

  it.each([
    ["a FIFO", "rm -f /run/pod && mkfifo /run/pod", "/run/pod"],
    ["a folder", "true", "/run"],
    ["a device", "true", "/dev/null"],
    ["a file's child", "touch /run/pod", "/run/pod/net"],
  ])("for %s in the place of the namespace, which CHECK refuses and DEL takes for gone", async (_, make, netns) => {
    expect(await node.run(["/bin/sh", "-c", make], { env: { PATH: "/usr/bin:/bin" } })).toMatchObject({ code: 0 });
    const inPlace = { ...call, env: { CNI_NETNS: netns } };
    for (const verb of ["ADD", "CHECK"]) {
      const { json } = await cni(verb, inPlace, CONFIG);
      expect(json).toMatchObject({ code: 104, msg: expect.stringMatching(/is not a network namespace|not found/) });
    }
    expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
    expect(await cni("DEL", inPlace, CONFIG)).toMatchObject({ code: 0, stdout: "" });
  });

  it("for a namespace that is gone", async () => {
    const { json } = await cni("ADD", { ...call, env: { CNI_NETNS: "/run/netns/gone" } }, CONFIG);
    expect(json).toMatchObject({ code: 104, msg: expect.stringContaining('"/run/netns/gone" not found') });
    expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
  });

  it("for itself as IPAM plugin, of which DEL and STATUS start none either", async () => {
    const itself = { ...CONFIG, cniVersion: "1.1.0", type: "my-bridge", ipam: { type: "my-bridge" } };
    expect((await cni("STATUS", { node }, itself)).json).toMatchObject({ code: 7 });
    expect(await cni("DEL", call, itself)).toMatchObject({ code: 0, stderr: expect.stringContaining("plugin itself") });
  });

  it("for the plugin's own namespace", async () => {
    const { json } = await cni("ADD", { ...call, env: { CNI_NETNS: "/proc/self/ns/net" } }, CONFIG);
    expect(json).toMatchObject({ code: 8 });
    expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
  });
});

describe("a hostile document of a megabyte gets one JSON answer", () => {
  const fill = (text: string) => text.repeat(Math.floor(1_000_000 / text.length));
  const wrap = (members: string) => `{"cniVersion":"1.0.0","name":"net","bridge":"br1",${members}}`;

  it.each<[string, string]>([
    ["brackets", fill("[")],
    ["nested objects", fill('{"a":')],
    ["many arrays", `[${fill("[],")}[]]`],
    ["many objects", `[${fill("{},")}{}]`],
    ["a huge string", wrap(`"x":"${fill("a")}"`)],
    ["a huge key", wrap(`"${fill("a")}":1`)],
    ["a huge bridge name", `{"cniVersion":"1.0.0","name":"net","bridge":"${fill("b")}"}`],
    ["the same key over and over", wrap(`${fill('"isGateway":false,')}"isGateway":true`)],
    ["every key unknown", wrap(Array.from({ length: 50_000 }, (_, i) => `"portIsolation${i}":1`).join())],
    ["a deep value", wrap(`"args":${"[".repeat(2000)}${"]".repeat(2000)}`)],
    ["keys of the language", wrap('"__proto__":{"bridge":"x"},"constructor":1,"toString":2,"hasOwnProperty":3')],
    ["half of a surrogate pair", wrap('"bridge":"\\ud800"')],
    ["a number beyond all numbers", wrap('"mtu":1e999')],
    ["spaces", fill(" ")],
    ["nul characters", fill("\0")],
  ])("%s", async (_, document) => {
    const { code, json, stderr } = await cni("ADD", call, document);
    expect(json?.cniVersion).toBeDefined();
    expect(code).toBe(json?.code === undefined ? 0 : 1);
    expect(stderr.length).toBeLessThan(4000);
    if (code === 1) expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
  });
});
