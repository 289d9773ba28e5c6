/** A node with a bridge that carries a port already, and one pod, whose network namespace has a name under /run/netns. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach } from "vitest";
import { systemClock } from "../../src/kube/clock.ts";
import { silentLog } from "../../src/kube/log.ts";
import type { HostLink } from "../../src/linux-bridge/agent/host-links.ts";
import { NODE_DIRECTORIES } from "../../src/linux-bridge/agent/node-agent.ts";
import { Reaper } from "../../src/linux-bridge/agent/reaper.ts";
import { buildPeers } from "../bench/peers.ts";
import { searchPath } from "../cluster/requirements.ts";
import { type CniCall, pluginPath } from "./cni-call.ts";
import { type Namespace, Testbed } from "./testbed.ts";

export const BRIDGE = "br1";
export const NETNS = "/run/netns/pod";

/** Live bindings, with `freshPreparedNode`: what the running test has. */
export let node: PreparedNode;
/** Of the bridge plugin. */
export let call: CniCall;

/** For each test of a file. */
export function freshPreparedNode(): void {
  beforeEach(async () => {
    node = await PreparedNode.create();
    call = await node.call("bridge");
  });

  afterEach(() => node[Symbol.asyncDispose]());
}

/** The kernel reports a change of carrier up to a second later, which no comparison of states could bear either. */
const CARRIER_SETTLED = `for try in $(seq 500); do
  ip link show | grep -E ' keep[01]@' | grep -qE 'NO-CARRIER|LOWERLAYERDOWN|state UNKNOWN' || break
  sleep 0.01
done`;

export class PreparedNode implements AsyncDisposable {
  readonly #testbed: Testbed;
  readonly container: Namespace;

  private constructor(testbed: Testbed, container: Namespace) {
    this.#testbed = testbed;
    this.container = container;
  }

  static async create(): Promise<PreparedNode> {
    const testbed = await Testbed.create();
    const prepared = new PreparedNode(testbed, await testbed.container());
    await prepared.withoutIpv6();
    await prepared.makeBridge();
    await prepared.nameNetns();
    return prepared;
  }

  get node(): Namespace {
    return this.#testbed.node;
  }

  /** A call for the pod, in which the reference's IPAM plugins are found. */
  async call(plugin: string): Promise<CniCall> {
    const env = { CNI_NETNS: NETNS, CNI_PATH: await buildPeers(process.env) };
    return { node: this.node, executable: await pluginPath(plugin), env };
  }

  async shell(script: string): Promise<string> {
    const env = { PATH: searchPath() };
    const { code, stdout, stderr } = await this.node.run(["/bin/sh", "-c", script], { env });
    if (code !== 0) throw new Error(`${script}: ${stderr}`);
    return stdout;
  }

  /** IPv6 addresses settle in time, which no comparison of states could bear. */
  private async withoutIpv6(): Promise<void> {
    const off = ["/bin/sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"];
    for (const namespace of [this.node, this.container]) await namespace.run(off);
  }

  /** With a port of its own, so that nothing about it depends on those that are tested. */
  async makeBridge(): Promise<void> {
    await this.shell(`ip link add ${BRIDGE} address 02:00:00:00:00:01 up type bridge
      ip link add keep0 up master ${BRIDGE} type veth peer name keep1 && ip link set keep1 up`);
  }

  nameNetns(): Promise<string> {
    return this.shell(`mkdir -p /run/netns && touch ${NETNS} && mount --bind ${this.container.path} ${NETNS}`);
  }

  /** The runtime takes the name away; something still holds the namespace, and with it the pair. */
  forgetNetns(): Promise<string> {
    return this.shell(`umount --lazy ${NETNS} && rm ${NETNS}`);
  }

  /** As the runtime and the node agent see to it. */
  pod(): { begin(): Promise<unknown>; end(): Promise<unknown>; reap(): Promise<number> } {
    return { begin: () => this.nameNetns(), end: () => this.forgetNetns(), reap: () => this.reap() };
  }

  /** All that a call could leave on the node: links, addresses, rules, and files under /run. */
  async state(): Promise<string> {
    await this.shell(CARRIER_SETTLED);
    const links = await this.#testbed.state(this.container);
    return links + (await this.shell("nft list ruleset; find /run -type f | sort"));
  }

  /** One pass of the node agent's reaper; the number of attachments that it leaves for later. */
  async reap(): Promise<number> {
    const scratch = await mkdtemp(path.join(tmpdir(), "reap-"));
    try {
      for (const name of ["bridge", "tuning"]) {
        const argv = this.node.enter([await pluginPath(name)]).join(" ");
        const script = `#!/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\nexec ${argv}\n`;
        await writeFile(path.join(scratch, name), script, { mode: 0o755 });
      }
      const root = `/proc/${this.node.pid}/root`;
      const { recordDirectory, netnsDirectories, resultDirectories } = NODE_DIRECTORIES;
      const reaper = new Reaper({
        recordDirectory: root + recordDirectory,
        netnsDirectories: netnsDirectories.map(({ directoryOnNode }) => ({
          directoryOnNode,
          directory: root + directoryOnNode,
        })),
        resultDirectories: resultDirectories.map((directory) => root + directory),
        listLinks: () => this.links(),
        longGraceMs: 0,
        pluginDirectory: scratch,
        plugins: ["bridge", "tuning"],
        cniPath: await buildPeers(process.env),
        onReaped: () => {},
        clock: systemClock,
        log: silentLog,
        graceMs: 0,
        signal: new AbortController().signal,
      });
      return await reaper.pass();
    } finally {
      await rm(scratch, { recursive: true });
    }
  }

  /** The links of the node, which this process is not in. */
  private async links(): Promise<HostLink[]> {
    const links: { ifname: string; ifalias?: string }[] = JSON.parse(await this.shell("ip -json link show"));
    return links.map(({ ifname, ifalias = "" }) => ({ name: ifname, alias: ifalias, filtersVlans: undefined }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#testbed[Symbol.asyncDispose]();
  }
}
