import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, it } from "vitest";
import { buildPeers } from "../../bench/peers.ts";
import { share } from "../../support/share.ts";
import { pluginPath } from "../cni-call.ts";
import { THIS_MACHINE } from "../machine.ts";
import { emptyReport, runDifferential } from "./differential.ts";

const SEED = 6;
const CASES = share(16);

/** Without them most cases would fail on both sides, which compares nothing. */
function requirePrograms(): void {
  for (const [program, install] of [
    ["nft", "nftables"],
    ["iptables", "iptables"],
  ] as const) {
    try {
      execFileSync(program, ["--version"], { stdio: "ignore" });
    } catch {
      throw new Error(`${program} was not found: install the package ${install} to compare with the reference plugins`);
    }
  }
}

it.each(["plain", "tuning"] as const)(
  "does what the reference does, or differs for a reason that is on the list: %s",
  async (kind) => {
    requirePrograms();
    const peers = await buildPeers(process.env, () => {});
    const plan = {
      machine: THIS_MACHINE,
      kind,
      parallel: 2,
      seed: SEED,
      first: 0,
      cases: CASES,
      reference: peers,
      cniPath: peers,
    };
    const found: unknown[] = [];
    const report = emptyReport(SEED);
    await runDifferential({ ...plan, ours: path.dirname(await pluginPath("bridge")) }, report, (one, differences) => {
      found.push({ one, differences });
    });
    expect(found).toEqual([]);
    expect(report.totals.bothSucceeded + report.totals.bothFailed).toBeGreaterThan(CASES / 2);
  },
);
