/** What a parent leaves to a plugin: signals that it ignores, limits, pipes that are full or never block, no /proc. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { findExecutable, searchPath } from "../cluster/requirements.ts";
import { pluginPath } from "./cni-call.ts";
import { container, data, freshNodeWithIpam, node } from "./fresh-node.ts";

const PATH = searchPath();
const NETNS = "/run/netns/pod";
const WAITS_WITHIN = { timeout: 20_000, interval: 20 };

freshNodeWithIpam(async () => buildPeers(process.env));

let plugin: string;

beforeEach(async () => {
  plugin = await pluginPath("bridge");
  const name = `mkdir -p /run/netns && touch ${NETNS} && mount --bind ${container.path} ${NETNS}`;
  expect(await node.run(["/bin/sh", "-c", name], { env: { PATH } })).toMatchObject({ code: 0 });
});

const layer2 = { cniVersion: "1.1.0", name: "l2-net", type: "bridge", bridge: "br1" };
const layer3 = () => ({
  ...layer2,
  ipam: { type: "host-local", dataDir: data, ranges: [[{ subnet: "10.5.0.0/24" }]] },
});

const environment = async (command: string) => ({
  CNI_COMMAND: command,
  CNI_CONTAINERID: "c1",
  CNI_IFNAME: "net1",
  CNI_NETNS: NETNS,
  CNI_PATH: await buildPeers(process.env),
  PATH,
});

/** The shell's last command is the plugin, as `$0`. */
async function call(command: string, shell: string, config: object) {
  const argv = ["/bin/sh", "-c", shell, plugin];
  const { code, stdout, stderr } = await node.run(argv, {
    env: await environment(command),
    input: JSON.stringify(config),
  });
  return { code, stderr, json: stdout === "" ? undefined : JSON.parse(stdout) };
}

/** The program `argv` in the node, with pipes. */
async function started(...argv: string[]): Promise<{ child: ChildProcess; answer: Promise<unknown> }> {
  const env = Object.entries(await environment("ADD")).map(([name, value]) => `${name}=${value}`);
  const [program = "", ...args] = node.enter(["env", "-i", ...env, ...argv]);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const end = Promise.all([once(child, "exit"), text(child.stdout)]);
  return { child, answer: end.then(([[code], stdout]) => [code, JSON.parse(stdout)]) };
}

const log = () => path.join(data, "log");
const traced = () => [findExecutable("strace") ?? "strace", "--trace=read,write", `--output=${log()}`, plugin];
const logged = (line: RegExp) => expect.poll(() => readFile(log(), "utf8").catch(() => ""), WAITS_WITHIN).toMatch(line);

it("waits for its IPAM plugin and for iptables where the parent ignores the end of its children", async () => {
  for (const name of ["iptables", "ip6tables"]) {
    await writeFile(path.join(data, name), `#!/bin/sh\necho >>${log()}\n`, { mode: 0o755 });
  }
  const config = { ...layer3(), ipMasq: true, ipMasqBackend: "iptables" };
  const ignoring = `PATH=${data}:$PATH exec perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$0"`;
  for (const command of ["ADD", "DEL"]) {
    expect(await call(command, ignoring, config)).toMatchObject({ code: 0, stderr: "" });
  }
  expect((await readFile(log(), "utf8")).length).toBeGreaterThan(3);
});

it("works where no file may grow, and says what it could not write", async () => {
  const checked = { ...layer2, macspoofchk: true };
  const { code, stderr } = await call("ADD", `ulimit -f 0; exec "$0"`, checked);
  expect([code, stderr]).toEqual([0, expect.stringContaining("the record of rules can't be written")]);
  expect(await call("DEL", `exec "$0"`, checked)).toMatchObject({ code: 0, stderr: "" });
});

it("waits for a configuration that comes late on a stdin that never blocks", async () => {
  const perl = "use Fcntl; fcntl(STDIN, F_SETFL, O_NONBLOCK) or die; exec @ARGV";
  const { child, answer } = await started("perl", "-e", perl, ...traced());
  await logged(/read\(0.* EAGAIN/);
  child.stdin?.end(JSON.stringify(layer2));
  expect(await answer).toEqual([0, expect.objectContaining({ interfaces: expect.anything() })]);
});

/** A pipe that takes nothing more; what it was filled with is not in what is read from it. */
const FULL_PIPE = `use Fcntl; pipe(my $reader, my $writer); my $filling = 0;
  fcntl($writer, F_SETFL, O_WRONLY | O_NONBLOCK); while (my $n = syswrite($writer, "x" x 4096)) { $filling += $n }
  my $config = shift @ARGV;`;

it("waits for room in a stdout that never blocks", async () => {
  const perl = `${FULL_PIPE} my $child = fork // die;
    if (!$child) { open(STDIN, "<", $config); open(STDOUT, ">&", $writer); exec @ARGV }
    close($writer); readline(STDIN); read($reader, my $x, $filling); print while (<$reader>); waitpid($child, 0); exit($? >> 8)`;
  await writeFile(path.join(data, "config"), JSON.stringify(layer2));
  const { child, answer } = await started("perl", "-e", perl, path.join(data, "config"), ...traced());
  await logged(/write\(1.* EAGAIN/);
  child.stdin?.end("read\n");
  expect(await answer).toEqual([0, expect.objectContaining({ interfaces: expect.anything() })]);
});

it.each(["O_WRONLY", "O_WRONLY | O_NONBLOCK"])("waits for nobody to read its warnings (%s)", async (flags) => {
  const perl = `${FULL_PIPE} fcntl($writer, F_SETFL, ${flags}); open(STDERR, ">&", $writer); open(STDIN, "<", $config); exec @ARGV`;
  await writeFile(path.join(data, "config"), JSON.stringify({ ...layer2, brigde: "typing error" }));
  const { answer } = await started("perl", "-e", perl, path.join(data, "config"), plugin);
  expect(await answer).toEqual([0, expect.objectContaining({ interfaces: expect.anything() })]);
});

it.each(["ADD", "CHECK", "DEL"])("says at %s that /proc is missing, and changes nothing", async (command) => {
  const shell = `unshare --mount sh -c 'mount -t tmpfs tmpfs /proc && exec "$0"' "$0"`;
  const { code, json } = await call(command, shell, layer2);
  expect([code, json]).toEqual([1, expect.objectContaining({ code: 4, msg: expect.stringContaining("/proc") })]);
  expect((await node.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
});
