import path from "node:path";
import { beforeEach, describe, it } from "vitest";
import { findExecutable } from "../cluster/requirements.ts";
import { lacks } from "../tools/debian/programs.ts";
import { add } from "./cni-call.ts";
import { expectAddRemovable, expectDelFinishable, expectNothingChanged, expectReaped, type Killable } from "./kills.ts";
import { BRIDGE, call, freshPreparedNode, node } from "./prepared-node.ts";

const CONFIG = {
  ...{ cniVersion: "1.1.0", name: "br1-net", type: "bridge", bridge: BRIDGE },
  ...{ isGateway: true, ipMasq: true, ipMasqBackend: "iptables" },
  ipam: { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] },
};

const programs = path.dirname(findExecutable("iptables") ?? "");

freshPreparedNode();

let killable: Killable;

beforeEach(() => {
  killable = {
    call: { ...call, env: { ...call.env, PATH: `${programs}:/usr/bin:/bin` } },
    config: CONFIG,
    state: async () => (await node.state()).replaceAll(/packets \d+ bytes \d+/g, ""),
  };
});

describe.skipIf(lacks("iptables", "nft"))("a plugin that masquerades with iptables and is killed", () => {
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
