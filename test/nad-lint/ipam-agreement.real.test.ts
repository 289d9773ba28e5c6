import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { ConfigObject, type JsonObject } from "../../cni-plugins/cni/config-object.ts";
import { ipamFault } from "../../src/nad-lint/ipam-checks.ts";
import { buildPeers } from "../bench/peers.ts";
import { share } from "../support/share.ts";

const CASES = share(800);
const SEED = 20;

const SUBNETS = [
  ...[
    "10.1.0.0/24",
    "10.1.0.0/16",
    "10.2.0.0/24",
    "10.1.0.0/30",
    "10.3.0.0/25",
    "fd00::/64",
    "fd00::/126",
    "fd01::/112",
  ],
  ...[
    "10.1.0.5/24",
    "10.1.0.0/31",
    "10.1.0.0/32",
    "10.1.0.0/33",
    "10.1.0/24",
    "010.1.0.0/24",
    "10.1.0.0",
    "fd00::1/64",
  ],
  ...["fd00::/127", "fd00::/129", "fd00::%eth0/64", "::ffff:10.1.0.0/120", "0.0.0.0/0", "::/0", "", " 10.1.0.0/24"],
  ...["10.1.0.0/24/24", "10.1.0.0/+24", "10.1.0.0/024", "10.1.0.0/ 24", "FD00::/64", "default"],
];
const ADDRESSES = [
  ...[
    "10.1.0.0",
    "10.1.0.1",
    "10.1.0.2",
    "10.1.0.3",
    "10.1.0.20",
    "10.1.0.254",
    "10.1.0.255",
    "10.1.255.255",
    "10.2.0.9",
  ],
  ...[
    "fd00::",
    "fd00::1",
    "fd00::2",
    "fd00::3",
    "fd00::ffff",
    "FD00::A",
    "fd01::ffff",
    "::10.1.0.1",
    "::ffff:10.1.0.7",
  ],
  ...["", "10.1.0.01", "1.2.3", "fd00::1%eth0", "10.1.0.1/24", "router", " 10.1.0.1", "0x0a.1.0.1", "fd00:::1"],
];
const PREFIXES = [...SUBNETS, "10.1.2.3/24", "10.1.2.3/0", "fd00::9/64", "10.1.2.3/32", "10.1.2.3"];
const OF_WRONG_TYPES: readonly unknown[] = [5, true, [], {}];

/**
 * An allowed difference: `static` without addresses, for a cniVersion whose result must have one. The pod's own annotation may
 * give them (the capability `ips`), which the lint can't see. Others are about the node, which generated cases do not reach: an
 * unreadable `resolvConf` or `dataDir`, and addresses that are all given away.
 */
const NO_ADDRESS = "cannot convert: no valid IP addresses";

/** Mostly a text. */
const one = (texts: readonly string[]) =>
  fc.oneof({ weight: 30, arbitrary: fc.constantFrom<unknown>(...texts) }, fc.constantFrom(...OF_WRONG_TYPES));
/** The first of a list are good ones. */
const mostly = (texts: readonly string[], good: number) =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom<unknown>(...texts.slice(0, good)) }, one(texts));

/** Mostly absent. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, arbitrary);

const range = fc.record({
  subnet: mostly(SUBNETS, 8),
  rangeStart: seldom(mostly(ADDRESSES, 7)),
  rangeEnd: seldom(mostly(ADDRESSES, 7)),
  gateway: seldom(mostly(ADDRESSES, 7)),
});
const routes = fc.array(fc.record({ dst: mostly(PREFIXES, 8), gw: seldom(one(ADDRESSES)) }), { maxLength: 1 });
const sets = fc.oneof(
  { weight: 30, arbitrary: fc.array(fc.array(range, { minLength: 1, maxLength: 2 }), { maxLength: 2 }) },
  fc.constantFrom<unknown>("10.1.0.0/24", 5, [{ subnet: "10.1.0.0/24" }], {}, [[]]),
);
const version = fc.constantFrom("0.2.0", "0.3.1", "1.0.0", "1.1.0");
const hostLocal = fc
  .record({ own: seldom(range), ranges: seldom(sets), routes: seldom(routes) })
  .map(({ own, ...more }) => ({ type: "host-local", ...own, ...more }));
const addresses = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.array(fc.record({ address: mostly(PREFIXES, 3), gateway: one(ADDRESSES) }, { requiredKeys: [] }), {
      minLength: 1,
      maxLength: 3,
    }),
  },
  fc.constantFrom<unknown>("10.1.0.2/24", 5, ["10.1.0.2/24"], {}),
);
const statics = fc.record({ addresses, routes }, { requiredKeys: [] }).map((keys) => ({ type: "static", ...keys }));

/** What the executable says to an ADD; undefined for an address. */
function refusalOfAdd(executable: string, cniVersion: string, ipam: JsonObject): string | undefined {
  const dataDir = mkdtempSync(join(tmpdir(), "ipam-agreement-"));
  try {
    const { status, stdout } = spawnSync(executable, {
      input: JSON.stringify({ cniVersion, name: "net", type: "bridge", ipam: { dataDir, ...ipam } }),
      env: { CNI_COMMAND: "ADD", CNI_CONTAINERID: "pod", CNI_NETNS: "/none", CNI_IFNAME: "eth0", CNI_PATH: "/none" },
      encoding: "utf8",
      timeout: 10_000,
    });
    return status === 0 ? undefined : (JSON.parse(stdout).msg ?? "no answer");
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

describe("the lint of addresses and the reference's IPAM plugins", () => {
  let peers: string;
  beforeAll(async () => {
    peers = await buildPeers(process.env);
  }, 600_000);

  it.each([
    ["host-local", hostLocal],
    ["static", statics],
  ] as const)("refuse the same configurations of %s", (name, arbitrary) => {
    const cases = fc.sample(fc.tuple(version, arbitrary as fc.Arbitrary<JsonObject>), { numRuns: CASES, seed: SEED });
    const differences: string[] = [];
    let refused = 0;
    for (const [cniVersion, ipam] of cases) {
      const add = refusalOfAdd(join(peers, name), cniVersion, ipam);
      const lint = ipamFault(new ConfigObject(JSON.parse(JSON.stringify(ipam)), "ipam."), cniVersion);
      if (add !== undefined) refused++;
      if (add === NO_ADDRESS) continue;
      if ((add === undefined) === (lint === undefined)) continue;
      differences.push(
        `${cniVersion} ${JSON.stringify(ipam)}\n  ADD: ${add ?? "takes it"}\n  lint: ${lint ?? "takes it"}`,
      );
    }
    expect(differences).toEqual([]);
    expect(refused).toBeGreaterThan(CASES / 5);
    expect(CASES - refused).toBeGreaterThan(CASES / 10);
  });
});
