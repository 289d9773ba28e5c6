/** The sysctls that a node's administrator allows, read by ours and by the Go reference plugin. */

import path from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { cni, pluginPath } from "./cni-call.ts";
import { call, container, freshNode, node } from "./fresh-node.ts";

const NOTIFY = "net.ipv4.conf.IFNAME.arp_notify";
const FORWARD = "net.ipv4.ip_forward";

let executables: readonly string[];

freshNode();

beforeAll(async () => {
  executables = [await pluginPath("tuning"), path.join(await buildPeers(process.env), "tuning")];
});

beforeEach(async () => {
  await container.ip("link", "add", "net1", "type", "veth", "peer", "name", "peer1");
  // The machine's own configuration of CNI stays as it is.
  await shell("mount -t tmpfs tmpfs /etc && mkdir -p /etc/cni/tuning");
});

async function shell(script: string, input = ""): Promise<void> {
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  const { code, stderr } = await node.run(["/bin/sh", "-c", script], { env, input });
  if (code !== 0) throw new Error(`${script}: ${stderr}`);
}

/** Ours, then the reference's. */
async function verdicts(list: string, ...keys: string[]): Promise<boolean[]> {
  await shell("cat >/etc/cni/tuning/allowlist.conf", list);
  const sysctl = Object.fromEntries(keys.map((key) => [key, "1"]));
  const interfaces = [{ name: "net1", sandbox: container.path }];
  const config = { cniVersion: "1.0.0", name: "net", type: "tuning", sysctl };
  const allowed: boolean[] = [];
  for (const executable of executables) {
    const prevResult = { cniVersion: "1.0.0", interfaces };
    const { code } = await cni("ADD", { ...call, executable }, { ...config, prevResult });
    allowed.push(code === 0);
  }
  return allowed;
}

describe("the allow-list", () => {
  it.each<[string, boolean]>([
    [NOTIFY, true],
    ["^net\\.core\\.", false],
    ["\n  ^net\\.core\\. \n\t^net\\.ipv4\\.conf \r\n", true],
    ["", false],
    ["^net.ipv4.conf.[[:alpha:]]+.arp_notify$", true],
    ["^net.ipv4.conf.[[:^alpha:]]+.arp_notify$", false],
    ["^net.ipv4.conf.[[:lower:]]+.arp_notify$", false],
    ["(?i)^NET\\.IPV4\\.CONF\\.[[:lower:]]+\\.ARP_NOTIFY$", true],
    ["^NET\\.IPV4", false],
    ["^(?i:NET)\\.ipv4", true],
    ["^(?i:NET)\\.IPV4", false],
    ["(?s)^net.*notify$", true],
    ["(?m)^net.*notify$", true],
    ["(?U)^net.*notify$", true],
    ["(?i-s)NOTIFY", true],
    ["(?P<family>net\\.ipv4)\\.conf", true],
    ["(?<family>net\\.ipv4)\\.conf", true],
    ["\\Anet\\.ipv4\\.conf\\.\\w+\\.arp_notify\\z", true],
    ["\\Anet\\.ipv4\\z", false],
    ["^\\Qnet?ipv4", false],
    ["^net\\.ipv4\\.(conf|neigh)\\.[^.]+\\.arp_[a-z]{1,10}$", true],
    ["\\x6eet", true],
    ["net\\/", false],
    [`net.ipv4\n(`, true],
    [`(\nnet.ipv4`, false],
    ["net(?=\\.ipv4)", false],
    ["net(?!\\.core)", false],
    ["(?<=net)\\.ipv4", false],
    ["(n)e\\1|net", false],
    ["net\\Z", false],
    ["[[:letters:]]", false],
    ["*", false],
  ])("with %j: is the key allowed, by both? %s", async (list, allowed) => {
    expect(await verdicts(list, NOTIFY)).toEqual([allowed, allowed]);
  });

  it.each<[string, boolean, boolean]>([
    ["^\\Qnet.ipv4.conf.IFNAME.\\E[a-z_]+$", false, true],
    ["\\pL", false, true],
    ["\\156et", false, true],
    ["[n&&e]", false, true],
    ["net.{,2}|ipv4", false, true],
    ["net.{02}", true, false],
    ["\\<net", true, false],
    ["net**", true, false],
    ["net.{0,1001}", true, false],
    ["(?x) net", true, false],
  ])(
    "with %j: ours says %s and the reference %s, as docs/reference/cni-plugins.md lists",
    async (list, ours, theirs) => {
      expect(await verdicts(list, NOTIFY)).toEqual([ours, theirs]);
    },
  );

  it("must name every key", async () => {
    expect(await verdicts("arp_notify$", NOTIFY, FORWARD)).toEqual([false, false]);
    expect(await verdicts("arp_notify$\nip_forward$", NOTIFY, FORWARD)).toEqual([true, true]);
  });

  it("is named with the line that can't be read, and why", async () => {
    await shell("cat >/etc/cni/tuning/allowlist.conf", "(?=net)");
    const prevResult = { cniVersion: "1.0.0", interfaces: [] };
    const config = { cniVersion: "1.0.0", name: "net", type: "tuning", sysctl: { [NOTIFY]: "1" }, prevResult };
    const { json } = await cni("ADD", { ...call, executable: await pluginPath("tuning") }, config);
    const msg = expect.stringContaining('allowlist.conf: "(?=net)" is not a regular expression');
    expect(json).toMatchObject({ code: 7, msg, details: "look-around is not supported" });
  });
});
