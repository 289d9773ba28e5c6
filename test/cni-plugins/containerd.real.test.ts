import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { pluginPath } from "../netns/cni-call.ts";
import { unpackDebian } from "../tools/debian/packages.ts";

const run = promisify(execFile);

const TIMEOUT_MS = 60_000;
const NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"];
const IPAM = { type: "host-local", ranges: [[{ subnet: "10.9.0.0/24" }]] };
const LIST = {
  ...{ cniVersion: "1.0.0", name: "br1-net" },
  plugins: [
    { type: "bridge", bridge: "br1", isGateway: true, ipam: IPAM },
    { type: "tuning", mtu: 1400 },
  ],
};

/** containerd makes control groups and device files. */
const isRoot = process.getuid?.() === 0;
const programs = isRoot ? await unpackDebian(["containerd", "runc"], process.env) : undefined;
if (programs === undefined) {
  console.warn(isRoot ? "Debian's containerd can't be downloaded here" : "containerd needs root");
}

it.skipIf(programs === undefined)("containerd runs a container on a network of ours, and nothing stays", async () => {
  const script = path.join(import.meta.dirname, "containerd.sh");
  const plugins = path.dirname(await pluginPath("bridge"));
  const args = [script, programs ?? "", plugins, await buildPeers(process.env), JSON.stringify(LIST)];
  const { stdout } = await run("unshare", [...NAMESPACES, "sh", ...args], {
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  const lines = stdout.trim().split("\n");
  const said = (word: string): string =>
    lines.find((line) => line.startsWith(`${word} `))?.slice(word.length + 1) ?? "";
  const links = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  expect(links).toContainEqual(expect.objectContaining({ name: "eth0", kind: "veth", up: true, mtu: 1400 }));
  expect(JSON.parse(said("attached"))).toMatchObject([{ master: "br1", operstate: "UP" }]);
  expect([said("detached"), said("left")]).toEqual(["[]", ""]);
});
