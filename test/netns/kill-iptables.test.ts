import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, describe, it } from "vitest";
import { iptablesAt } from "../cni-plugins/debian-iptables.ts";
import { add } from "./cni-call.ts";
import { expectAddRemovable, expectDelFinishable, expectNothingChanged, expectReaped, type Killable } from "./kills.ts";
import { BRIDGE, call, freshPreparedNode, node } from "./prepared-node.ts";

const CONFIG = {
  ...{ cniVersion: "1.1.0", name: "br1-net", type: "bridge", bridge: BRIDGE },
  ...{ isGateway: true, ipMasq: true, ipMasqBackend: "iptables" },
  ipam: { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] },
};

const scratch = await mkdtemp(path.join(tmpdir(), "kill-iptables-"));
const programs = await iptablesAt(path.join(scratch, "bin"), process.env);

freshPreparedNode();

let killable: Killable;

beforeEach(() => {
  killable = {
    call: { ...call, env: { ...call.env, PATH: `${programs}:/usr/bin:/bin` } },
    config: CONFIG,
    state: async () => (await node.state()).replaceAll(/packets \d+ bytes \d+/g, ""),
  };
});
afterAll(() => rm(scratch, { recursive: true }));

describe.skipIf(programs === undefined)("a plugin that masquerades with iptables and is killed", () => {
  it("leaves nothing of an ADD that DEL does not remove", () => expectAddRemovable(killable));

  it("leaves a DEL that the next one finishes", () => expectDelFinishable(killable));

  it("leaves nothing that the reaper, which has no iptables, does not remove once the container is gone", () =>
    expectReaped({ ...killable, ...node.pod() }));

  it("changes nothing at CHECK and STATUS", async () => {
    await expectNothingChanged("STATUS", killable);
    const prevResult = await add(killable.call, CONFIG);
    await expectNothingChanged("CHECK", { ...killable, config: { ...CONFIG, prevResult } });
  });
});
