import { describe, expect, it } from "vitest";
import { CniError } from "../../../cni-plugins/cni/cni-error.ts";
import { parseNetworkConfig, type Request, readRequest } from "../../../cni-plugins/cni/request.ts";

const ENV: Record<string, string> = {
  CNI_CONTAINERID: "pod-1",
  CNI_NETNS: "/run/netns/a",
  CNI_IFNAME: "net1",
  CNI_PATH: "/opt/cni/bin",
};

function read(command: string, env: Record<string, string> = {}, config: object = {}): Request {
  const all = { ...ENV, ...env };
  const networkConfig = parseNetworkConfig(JSON.stringify({ cniVersion: "1.1.0", name: "net", ...config }));
  return readRequest(command, (name) => all[name] ?? "", networkConfig);
}

function failure(run: () => unknown): CniError {
  try {
    run();
  } catch (error) {
    if (error instanceof CniError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("the network configuration", () => {
  it.each(["", "{", "[]", "null", "1", '"text"'])("is refused when stdin is %j", (stdin) => {
    expect(failure(() => parseNetworkConfig(stdin)).code).toBe(6);
  });

  it("speaks the oldest version when it names none", () => {
    expect(parseNetworkConfig("{}").version).toBe("0.1.0");
  });

  it.each(["0.5.0", "1.0", "v1.0.0", "2.0.0"])("is refused with version %s", (version) => {
    const { code, message, details } = failure(() => parseNetworkConfig(JSON.stringify({ cniVersion: version })));
    expect([code, message, details]).toEqual([1, expect.stringContaining(version), expect.stringContaining("1.1.0")]);
  });

  it("has its keys recognised in any case", () => {
    const { version, config } = parseNetworkConfig('{"CNIVersion":"0.4.0","NAME":"net","Bridge":"br1"}');
    expect([version, config.string("name"), config.string("bridge")]).toEqual(["0.4.0", "net", "br1"]);
  });

  it("can't be decoded with a network name that is no string", () => {
    expect(failure(() => read("ADD", {}, { name: 5 }))).toMatchObject({
      code: 6,
      message: expect.stringContaining("name"),
    });
  });

  it.each(["", "-a", "a b", "a/b", "ä"])("is refused with the network name %j", (name) => {
    expect(failure(() => read("ADD", {}, { name })).code).toBe(7);
  });

  it.each([
    ["mtu", "1500 bytes", /"mtu" must be a whole number from 0 to 9000, found the string "1500 bytes"/],
    ["mtu", 1.5, /found the number 1.5/],
    ["mtu", 9001, /found the number 9001/],
  ])("has a value of the wrong type named: %s = %j", (key, value, message) => {
    const { config } = parseNetworkConfig(JSON.stringify({ [key]: value }));
    expect(failure(() => config.integer(key, 0, 9000)).message).toMatch(message);
  });

  it("has the path of a nested key named", () => {
    const { config } = parseNetworkConfig('{"runtimeConfig":{"mac":1}}');
    const error = failure(() => config.object("runtimeConfig").string("mac"));
    expect(error.message).toContain('"runtimeConfig.mac" must be a string, found the number 1');
  });

  it("has null read as absent", () => {
    const { config } = parseNetworkConfig('{"mtu":null,"ipam":null,"vlanTrunk":null}');
    expect([config.integer("mtu", 0, 1), config.object("ipam").keys(), config.objects("vlanTrunk")]).toEqual([
      undefined,
      [],
      [],
    ]);
  });
});

describe("the environment", () => {
  it.each([
    ["ADD", "CNI_CONTAINERID"],
    ["ADD", "CNI_NETNS"],
    ["ADD", "CNI_IFNAME"],
    ["ADD", "CNI_PATH"],
    ["DEL", "CNI_CONTAINERID"],
    ["DEL", "CNI_IFNAME"],
    ["CHECK", "CNI_NETNS"],
    ["GC", "CNI_PATH"],
  ])("must have for %s a %s", (command, name) => {
    expect(failure(() => read(command, { [name]: "" }))).toMatchObject({
      code: 4,
      message: expect.stringContaining(name),
    });
  });

  it("need not have a namespace for DEL", () => {
    expect(read("DEL", { CNI_NETNS: "" }).netns).toBe("");
  });

  it.each(["CHECK", "GC", "STATUS"])("may not ask for %s in a version that lacks it", (command) => {
    expect(failure(() => read(command, {}, { cniVersion: "0.3.1" })).code).toBe(1);
  });

  it.each([
    ["", "CNI_IFNAME"],
    ["sixteen-letters-", "is longer than 15"],
    ["a/b", 'contains "/"'],
    ["a:b", 'contains ":"'],
    ["a b", "contains white space"],
    ["a\tb", "contains white space"],
    ["a\u0001b", "contains a control character"],
    ["net%d", 'contains "%"'],
    [".", "is not a name"],
    ["..", "is not a name"],
  ])("may not name the interface %j", (name, fault) => {
    const message = expect.stringContaining(fault);
    expect(failure(() => read("ADD", { CNI_IFNAME: name }))).toMatchObject({ code: 4, message });
  });

  it("may name a pattern for DEL, because earlier versions attached under one", () => {
    expect(read("DEL", { CNI_IFNAME: "net%d" }).ifname).toBe("net%d");
  });

  it.each(["-a", "a b", "../a"])("may not name the container %j", (id) => {
    expect(failure(() => read("ADD", { CNI_CONTAINERID: id })).code).toBe(4);
  });

  it("may not ask for a verb that does not exist", () => {
    expect(failure(() => read("toString"))).toMatchObject({ code: 4, message: expect.stringContaining("toString") });
  });
});
