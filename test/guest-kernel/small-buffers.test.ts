/** A kernel whose sockets have the smallest receive buffers, which no network namespace can set for itself. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, del, pluginPath } from "../netns/cni-call.ts";
import { Testbed } from "../netns/testbed.ts";
import { Guest } from "./guest.ts";
import { guestPartsOrReason } from "./packages.ts";

const parts = guestPartsOrReason();

describe.skipIf(typeof parts === "string")(`small buffers${typeof parts === "string" ? `: ${parts}` : ""}`, () => {
  let guest: Guest;
  let peers: string;

  beforeAll(async () => {
    if (typeof parts === "string") return;
    [guest, peers] = await Promise.all([Guest.boot(parts), buildPeers(process.env), pluginPath("bridge")]);
  });
  afterAll(() => guest?.[Symbol.asyncDispose]());

  const allowedMacs = Array.from({ length: 64 }, (_, i) => `02:00:00:00:${i + 10}:00/40`);

  it.each([{}, { macspoofchk: true, vlan: 7, allowedMacs }])(
    "take the answers about 400 routes, with %j",
    async (keys) => {
      const smallest = "echo 2304 >/proc/sys/net/core/rmem_default";
      expect(await guest.run(["sh", "-c", smallest])).toMatchObject({ code: 0, stderr: "" });
      const routes = Array.from({ length: 400 }, (_, i) => ({ dst: `172.16.${i >> 2}.${(i & 3) << 6}/26` }));
      const ranges = [[{ subnet: "10.7.0.0/24" }]];
      const ipam = { type: "host-local", dataDir: "/run/leases", ranges, routes };
      const config = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1", ipam, ...keys };
      const testbed = await Testbed.create(guest);
      try {
        const env = { CNI_PATH: peers, PATH: guest.path };
        const call = { node: testbed.node, container: await testbed.container(), env };
        expect(await add(call, config)).toMatchObject({ routes });
        await del(call, config);
      } finally {
        await testbed[Symbol.asyncDispose]();
      }
    },
  );
});
