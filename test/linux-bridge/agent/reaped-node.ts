import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import type { HostLink } from "../../../src/linux-bridge/agent/host-links.ts";
import { Reaper } from "../../../src/linux-bridge/agent/reaper.ts";

export const GRACE_MS = 1000;
export const LONG_GRACE_MS = 60_000;
export const RECORD = { plugin: "bridge", network: "net", containerId: "c1", ifname: "net1", netns: "/run/netns/pod" };
export const CONFIG = '{"cniVersion":"1.0.0"}';

const PLUGIN = 'cat > "$CNI_PATH/stdin"; env > "$CNI_PATH/env"; rm -f "$CNI_PATH"/../records/c1~net1~bridge.json';

/** The directories of a node for a reaper, whose plugin is a script and whose clock stands still. */
export class ReapedNode {
  readonly root: string;
  readonly records: string;
  readonly results: string;
  readonly multusResults: string;
  readonly netns: string;
  /** Not made: what the node does not have. */
  readonly varRunNetns: string;
  /** A file for each link, with its alias. */
  readonly links: string;
  readonly plugins: string;
  readonly outcomes: string[] = [];
  readonly stop = new AbortController();
  nowMs = 0;
  /** Where the reaper sees the names of namespaces. */
  netnsShown: string;

  private constructor(root: string) {
    this.root = root;
    [this.records, this.netns, this.plugins] = [join(root, "records"), join(root, "netns"), join(root, "plugins")];
    [this.results, this.multusResults] = [join(root, "results"), join(root, "multus-results")];
    this.varRunNetns = join(root, "var-run-netns");
    this.links = join(root, "links");
    this.netnsShown = this.netns;
  }

  static async create(): Promise<ReapedNode> {
    const node = new ReapedNode(await mkdtemp(join(tmpdir(), "reaper-")));
    const { records, results, multusResults, netns, plugins, links } = node;
    for (const directory of [records, results, multusResults, netns, plugins, links]) await mkdir(directory);
    await writeFile(join(links, "lo"), "");
    await node.plugin(PLUGIN);
    return node;
  }

  plugin(script: string): Promise<void> {
    const text = `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`;
    return writeFile(join(this.plugins, "bridge"), text, { mode: 0o755 });
  }

  record(more: object = {}, file = "c1~net1~bridge.json"): Promise<void> {
    return writeFile(join(this.records, file), JSON.stringify({ ...RECORD, config: CONFIG, ...more }));
  }

  /** The interface that the record's plugin made on the host. */
  async attach(): Promise<void> {
    await writeFile(join(this.links, "veth0"), "cni-bridge:net/c1/net1\n");
  }

  private async listLinks(): Promise<HostLink[]> {
    const links = (await readdir(this.links)).map(async (name) => {
      const alias = await readFile(join(this.links, name), "utf8");
      return { name, alias: alias.trimEnd(), filtersVlans: undefined };
    });
    return Promise.all(links);
  }

  reaper(callTimeoutMs = 30_000): Reaper {
    return new Reaper({
      recordDirectory: this.records,
      netnsDirectories: [
        { directoryOnNode: "/run/netns", directory: this.netnsShown },
        { directoryOnNode: "/var/run/netns", directory: this.varRunNetns },
      ],
      resultDirectories: [join(this.root, "missing"), this.results, this.multusResults],
      listLinks: () => this.listLinks(),
      pluginDirectory: this.plugins,
      plugins: ["bridge"],
      cniPath: this.plugins,
      onReaped: (outcome) => this.outcomes.push(outcome),
      clock: { ...systemClock, monotonicMs: () => this.nowMs },
      log: silentLog,
      graceMs: GRACE_MS,
      longGraceMs: LONG_GRACE_MS,
      callTimeoutMs,
      signal: this.stop.signal,
    });
  }

  /** Two passes with the grace between them. */
  async reap(one = this.reaper()): Promise<void> {
    await one.pass();
    this.nowMs += GRACE_MS;
    await one.pass();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.root, { recursive: true });
  }
}
