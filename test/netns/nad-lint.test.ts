import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../cni-plugins/protocol/config-object.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import type { Finding } from "../../src/nad-lint/finding.ts";
import { lintNetwork } from "../../src/nad-lint/lint.ts";
import { buildPeers } from "../bench/peers.ts";
import { Random } from "../support/random.ts";
import { type CniAnswer, cni, pluginPath } from "./cni-call.ts";
import { generateCase } from "./differential/case-generator.ts";
import { THIS_MACHINE } from "./machine.ts";
import { type Namespace, Testbed } from "./testbed.ts";

const CASES = 120;
const IFNAME = "net1";
/** What says that pods do not start. */
const REFUSALS = ["config-unreadable", "plugin-refuses", "ipam-refuses"];

/** VLANs and filters need parts that a node may lack. */
const NOT_COMPARED = ["vlan", "vlantrunk", "ipmasq", "macspoofchk", "forceaddress"];

interface Written {
  readonly bridge: JsonObject;
  readonly tuning: JsonObject | undefined;
}

/**
 * A network without a mistake, or with one that people make. What the lint does not look at is left out: a route's scope that
 * its gateway does not fit, and gateways of two networks on one bridge.
 */
function generateNetwork(number: number, dataDir: string): Written {
  const random = new Random(41_000_000 + number);
  const { config } = generateCase(3, number, "plain");
  const kept = Object.entries(config).filter(([key]) => !NOT_COMPARED.includes(key.toLowerCase()));
  const text = JSON.stringify(Object.fromEntries(kept))
    .replaceAll("DATA", dataDir)
    .replaceAll('"scope":', '"priority":');
  const network: Record<string, unknown> = { ...JSON.parse(text), forceAddress: true };
  if (random.chance(0.3)) {
    network.ipam = random.pick<JsonObject>([
      { type: "static" },
      { type: "static", addresses: [] },
      { type: "static", address: [{ address: "10.1.0.2/24" }] },
      { type: "host-local", dataDir, subnet: "10.1.0.0/24", route: [{ dst: "10.9.0.0/16" }] },
      { type: "host-local", dataDir, subnets: "10.1.0.0/24" },
      { type: "host-local", dataDir, subnet: "10.1.0.0/24", rangeStart: "10.2.0.9" },
      { type: "static", addresses: [{ address: "10.1.0.2" }] },
    ]);
  }
  if (random.chance(0.1)) network.portIsolaton = true;
  if (random.chance(0.5)) return { bridge: network, tuning: undefined };
  const name = random.pick(["IFNAME", "all", IFNAME, "net2", "br1", "lo"]);
  const value = random.pick<unknown>(["1", "1", "1", 1]);
  const sysctl = { [random.pick([`net.ipv4.conf.${name}.arp_notify`, `net/ipv6/conf/${name}/accept_ra`])]: value };
  const mtu = random.chance(0.3) ? { mtu: random.pick<unknown>([1400, "1400", "small"]) } : {};
  return { bridge: network, tuning: { type: "tuning", sysctl, ...mtu } };
}

function lintOf({ bridge, tuning }: Written): Finding[] {
  const { cniVersion, name, ...first } = bridge;
  const config = tuning === undefined ? bridge : { cniVersion, name, plugins: [first, tuning] };
  const at = Object.entries(bridge).find(([key]) => key.toLowerCase() === "bridge")?.[1] ?? "cni0";
  const annotations = { [NAD_RESOURCE_NAME_ANNOTATION]: `bridge.network.kubevirt.io/${at}` };
  return lintNetwork({ name: "net", annotations, config: JSON.stringify(config) });
}

/** The first answer that is an error, or the last one. */
async function addOf(
  { bridge, tuning }: Written,
  node: Namespace,
  container: Namespace,
  cniPath: string,
): Promise<CniAnswer> {
  const call = { node, container, ifname: IFNAME, env: { CNI_PATH: cniPath, PATH: THIS_MACHINE.path } };
  const made = await cni("ADD", call, bridge);
  if (made.code !== 0 || tuning === undefined) return made;
  const { cniVersion, name } = bridge;
  const executable = await pluginPath("tuning");
  return cni("ADD", { ...call, executable }, { cniVersion, name, ...tuning, prevResult: made.json });
}

describe("the lint and an ADD on the real kernel", () => {
  it("agree: no ADD fails without a finding, and no network that works is said not to start", async () => {
    const cniPath = await buildPeers(process.env);
    const seen = { worked: 0, failed: 0 };
    for (let number = 0; number < CASES; number++) {
      const dataDir = await mkdtemp(join(tmpdir(), "nad-lint-"));
      try {
        await using testbed = await Testbed.create();
        const network = generateNetwork(number, dataDir);
        const findings = lintOf(network).filter(({ severity }) => severity !== "note");
        const { code, stdout } = await addOf(network, testbed.node, await testbed.container(), cniPath);
        seen[code === 0 ? "worked" : "failed"]++;
        const said = `case ${number}: ${JSON.stringify(network)}\n  ADD: ${stdout}\n  lint: ${JSON.stringify(findings)}`;
        const wrong = code === 0 ? findings.filter((one) => REFUSALS.includes(one.code)) : [];
        expect(wrong, said).toEqual([]);
        if (code !== 0) expect(findings, said).not.toEqual([]);
      } finally {
        await rm(dataDir, { recursive: true });
      }
    }
    expect(seen.worked).toBeGreaterThan(20);
    expect(seen.failed).toBeGreaterThan(20);
  }, 120_000);
});
