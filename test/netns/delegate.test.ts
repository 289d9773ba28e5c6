/** IPAM plugins that can't be started at once, or fail late. */

import { copyFile, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { findExecutable } from "../cluster/requirements.ts";
import { add, cni, pluginPath } from "./cni-call.ts";
import { Testbed } from "./testbed.ts";

const STARTS_WITHIN = { timeout: 20_000, interval: 20 };

let testbed: Testbed;
let folder: string;

beforeEach(async () => {
  testbed = await Testbed.create();
  folder = await mkdtemp(path.join(tmpdir(), "cni-delegate-"));
});

afterEach(async () => {
  await testbed[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const config = () => ({
  cniVersion: "1.1.0",
  name: "l3-net",
  type: "bridge",
  bridge: "br1",
  ipam: { type: "ipam", dataDir: folder, ranges: [[{ subnet: "10.5.0.0/24" }]] },
});

it("is tried again as long as it is being written", async () => {
  const ipam = path.join(folder, "ipam");
  await copyFile(path.join(await buildPeers(process.env), "host-local"), ipam);
  const container = await testbed.container();
  const env = {
    CNI_COMMAND: "ADD",
    CNI_CONTAINERID: "c1",
    CNI_IFNAME: "net1",
    CNI_NETNS: container.path,
    CNI_PATH: folder,
  };
  const log = path.join(folder, "log");
  const traced = [
    findExecutable("strace") ?? "strace",
    "--follow-forks",
    "--trace=execve",
    `--output=${log}`,
    await pluginPath("bridge"),
  ];
  const writer = await open(ipam, "r+");
  const added = testbed.node.run(traced, { env, input: JSON.stringify(config()) });
  await expect.poll(() => readFile(log, "utf8").catch(() => ""), STARTS_WITHIN).toContain("ETXTBSY");
  await writer.close();
  const { code, stdout } = await added;
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ ips: [expect.anything()] })]);
  expect(await readFile(log, "utf8")).toMatch(/execve\("[^"]*\/ipam".* = 0/);
  const call = { node: testbed.node, container, containerId: "c1", env: { CNI_PATH: folder } };
  expect(await cni("DEL", call, config())).toMatchObject({ code: 0 });
});

it.each([
  ["is no program", "no program", "ENOEXEC, not a program that this kernel can run"],
  ["needs a program that is missing", "#!/nowhere\n", "the program that interprets or loads it is missing"],
])("is said to be what it is where it %s", async (_, content, words) => {
  await writeFile(path.join(folder, "ipam"), content, { mode: 0o755 });
  const call = { node: testbed.node, container: await testbed.container(), env: { CNI_PATH: folder } };
  const { json } = await cni("ADD", call, config());
  expect(json).toMatchObject({ code: 107, msg: `cannot execute ${folder}/ipam: ${words}` });
});

it("may answer as the reference takes it: a version that is no string, numbers below zero, a scope of more bits", async () => {
  const route = { dst: "10.9.0.0/24", gw: "10.5.0.1", table: -1, scope: 300, priority: -5, mtu: -1, advmss: -1 };
  const answer = JSON.stringify({ cniVersion: 1, ips: [{ address: "10.5.0.2/24" }], routes: [route] });
  await writeFile(path.join(folder, "ipam"), `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 });
  const container = await testbed.container();
  const call = { node: testbed.node, container, env: { CNI_PATH: folder } };
  const prevResult = await add(call, config());
  expect(prevResult).toMatchObject({ routes: [{ dst: route.dst, table: -1, scope: 300 }] });
  const env = { PATH: process.env.PATH ?? "" };
  const { stdout } = await container.run(["ip", "route", "show", route.dst], { env });
  expect(stdout).toMatch(/^10\.9\.0\.0\/24 via 10\.5\.0\.1 dev net1 scope 44 *\n$/);
  expect(await cni("CHECK", call, { ...config(), prevResult })).toMatchObject({ code: 0 });
});

it("takes back all of an ADD when it fails after its answer", async () => {
  const answer = JSON.stringify({ cniVersion: "1.1.0", ips: [{ address: "10.5.0.2/24" }] });
  const script = `#!/bin/sh
    read -r config
    echo $CNI_COMMAND >>${folder}/calls
    [ $CNI_COMMAND = ADD ] && echo '${answer}' && exit 3`;
  await writeFile(path.join(folder, "ipam"), script, { mode: 0o755 });
  const container = await testbed.container();
  const call = { node: testbed.node, container, env: { CNI_PATH: folder } };
  expect((await cni("ADD", call, config())).json).toMatchObject({ msg: expect.stringContaining("exit code 3") });
  expect(await readFile(path.join(folder, "calls"), "utf8")).toBe("ADD\nDEL\n");
  const links = [...(await testbed.node.links()), ...(await container.links())];
  expect(links.map(({ ifname }) => ifname)).toEqual(["lo", "lo"]);
});
