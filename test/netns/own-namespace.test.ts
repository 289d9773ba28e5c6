/** CNI_NETNS that is the plugin's own namespace is refused before anything else is looked at. */

import { access, chmod, writeFile } from "node:fs/promises";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type CniCall, cni, pluginPath } from "./cni-call.ts";
import { call, data, freshNodeWithIpam, node } from "./fresh-node.ts";

freshNodeWithIpam(async (folder) => folder);

const VERBS = ["ADD", "CHECK", "DEL"] as const;
const called = () => path.join(data, "called");

beforeEach(async () => {
  const ipam = path.join(data, "ipam");
  await writeFile(
    ipam,
    `#!/bin/sh\ntouch ${called()}\ncat > /dev/null\necho '{"ips": [{"address": "10.1.0.2/24"}]}'\n`,
  );
  await chmod(ipam, 0o755);
});

const bridge = (more: object) => ({
  ...{ cniVersion: "1.0.0", name: "net", type: "bridge", bridge: "br1", ipam: { type: "ipam" } },
  prevResult: { cniVersion: "1.0.0", interfaces: [{ name: "net1", sandbox: "/proc/self/ns/net" }] },
  ...more,
});
const tuning = (more: object) => ({ cniVersion: "1.0.0", name: "net", type: "tuning", ...more });

const inOwn = (more: Partial<CniCall> = {}): CniCall => ({
  ...call,
  ...more,
  env: { ...call.env, CNI_NETNS: "/proc/self/ns/net", ...more.env },
});

describe.each(VERBS)("%s", (verb) => {
  it.each([
    ["a good configuration", {}],
    ["a wrong one", { mtu: -1, hairpinMode: true, promiscMode: true, prevResult: undefined }],
  ])("of bridge with %s", async (_, more) => {
    const before = await node.links();
    const { code, json } = await cni(verb, inOwn(), bridge(more));
    expect([code, json?.code]).toEqual([1, 8]);
    expect(await node.links()).toEqual(before);
    await expect(access(called())).rejects.toThrow("ENOENT");
  });

  it.each([
    ["a good configuration", { prevResult: { cniVersion: "1.0.0", interfaces: [] } }],
    ["a wrong one", { mtu: -1, sysctl: { nonsense: 1 }, dataDir: "relative" }],
  ])("of tuning with %s", async (_, more) => {
    const { code, json } = await cni(verb, inOwn({ executable: await pluginPath("tuning") }), tuning(more));
    expect([code, json?.code]).toEqual([1, 8]);
  });
});

it("is taken where the runtime says so, and then a wrong configuration is the error", async () => {
  const insisting = inOwn({ env: { CNI_NETNS_OVERRIDE: "true" } });
  expect((await cni("ADD", insisting, bridge({ mtu: -1 }))).json).toMatchObject({ code: 7 });
  const prevResult = (await cni("ADD", insisting, bridge({ ipam: {} }))).json;
  expect(prevResult).toMatchObject({ interfaces: [{ name: "br1" }, {}, { name: "net1" }] });
  expect(await cni("CHECK", insisting, bridge({ ipam: {}, prevResult }))).toMatchObject({ code: 0, stdout: "" });
  expect(await cni("DEL", insisting, bridge({ ipam: {} }))).toMatchObject({ code: 0, stdout: "" });
  expect(await node.link("net1")).toBeUndefined();
});
