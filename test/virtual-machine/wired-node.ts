/** Nodes with a bridge each, and a veth pair, the wire, between the bridges of two. */

import { searchPath } from "../cluster/requirements.ts";
import { type Namespace, Testbed } from "../netns/testbed.ts";

export const BRIDGE = "br1";
export const WIRE = "wire";

export class WiredNode implements AsyncDisposable {
  readonly #testbed: Testbed;

  private constructor(testbed: Testbed) {
    this.#testbed = testbed;
  }

  static async pair(): Promise<[WiredNode, WiredNode]> {
    const nodes: [WiredNode, WiredNode] = [
      new WiredNode(await Testbed.create()),
      new WiredNode(await Testbed.create()),
    ];
    const [one, other] = nodes;
    for (const { node } of nodes) await node.ip("link", "add", BRIDGE, "up", "type", "bridge");
    await one.node.ip("link", "add", WIRE, "type", "veth", "peer", "name", WIRE, "netns", `${other.node.pid}`);
    for (const { node } of nodes) await node.ip("link", "set", WIRE, "master", BRIDGE, "up");
    return nodes;
  }

  get node(): Namespace {
    return this.#testbed.node;
  }

  pod(): Promise<Namespace> {
    return this.#testbed.container();
  }

  /** The port behind which the bridge has seen this MAC last. */
  async portOf(mac: string): Promise<string | undefined> {
    const text = await this.#output(["bridge", "-json", "fdb", "show", "br", BRIDGE]);
    const entries: { mac: string; ifname: string; state?: string }[] = JSON.parse(text);
    return entries.find((entry) => entry.mac === mac && entry.state !== "permanent")?.ifname;
  }

  /** How many frames the other end of a port's pair has sent. */
  async framesFrom(port: string): Promise<number> {
    const text = await this.node.ip("-json", "-statistics", "link", "show", "dev", port);
    const [link]: { stats64: { rx: { packets: number } } }[] = JSON.parse(text);
    return link?.stats64.rx.packets ?? 0;
  }

  /** What attachments have on the node: links, rules with their chains, and files. The base chain is everybody's. */
  async attachments(): Promise<string[]> {
    const links = (await this.node.links()).map(({ ifname }) => ifname).sort();
    const listed = JSON.parse(await this.#output(["nft", "-json", "list", "ruleset"]));
    const rules: { rule?: object; chain?: { hook?: string } }[] = listed.nftables;
    const ofOne = rules.filter(({ rule, chain }) => rule !== undefined || (chain && chain.hook === undefined));
    const files = await this.#output(["find", "/run", "-type", "f"]);
    return [...links, ...ofOne.map((each) => JSON.stringify(each)), ...files.split("\n").filter(Boolean)];
  }

  async #output(argv: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.node.run(argv, { env: { PATH: searchPath() } });
    if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
    return stdout;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#testbed[Symbol.asyncDispose]();
  }
}
