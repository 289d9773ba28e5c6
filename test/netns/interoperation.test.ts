import path from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { add, type CniCall, type CniResult, cni, del, pluginPath } from "./cni-call.ts";
import { Testbed } from "./testbed.ts";

const CONFIG = { name: "br1-net", type: "bridge", bridge: "br1" };

let ours: string;
let reference: string;
let testbed: Testbed;
let call: CniCall;

beforeAll(async () => {
  ours = await pluginPath("bridge");
  reference = path.join(await buildPeers(process.env), "bridge");
});

beforeEach(async () => {
  testbed = await Testbed.create();
  call = { node: testbed.node, container: await testbed.container() };
});

afterEach(() => testbed[Symbol.asyncDispose]());

/** A result without what differs from call to call, and without the MTU, which only ours tells. */
function normalized({ interfaces, ...rest }: CniResult): object {
  const names = (name: string) => name.replace(/^veth[0-9a-f]{8}$/, "veth");
  return {
    ...rest,
    interfaces: interfaces.map(({ name, mac, mtu: _, ...more }) => ({ name: names(name), mac: mac.length, ...more })),
  };
}

async function leftovers(): Promise<string[]> {
  return (await testbed.node.links()).map(({ ifname }) => ifname);
}

describe("beside the Go reference plugin", () => {
  it.each(["0.3.0", "0.3.1", "0.4.0", "1.0.0"])(
    "the answer to ADD has the same form in version %s",
    async (cniVersion) => {
      const dns = { nameservers: ["10.0.0.1"] };
      for (const config of [CONFIG, { ...CONFIG, dns, runtimeConfig: { mac: "02:00:00:00:00:01" } }]) {
        const answers: object[] = [];
        for (const executable of [ours, reference]) {
          const one = { ...call, executable };
          answers.push(normalized(await add(one, { cniVersion, ...config })));
          await del(one, { cniVersion, ...config });
        }
        expect(answers[0]).toEqual(answers[1]);
      }
    },
  );

  it.each(["{}", "", '{"cniVersion":"9"', '{"cniVersion":"9.9.9"}'])(
    "VERSION is answered alike with %j",
    async (stdin) => {
      const [first, second] = await Promise.all(
        [ours, reference].map((executable) => cni("VERSION", { ...call, executable }, stdin)),
      );
      expect([first?.code, first?.json]).toEqual([second?.code, second?.json]);
    },
  );

  it("ours deletes what the reference attached", async () => {
    const config = { cniVersion: "0.3.1", ...CONFIG };
    await add({ ...call, executable: reference }, config);
    await del({ ...call, executable: ours }, config);
    expect(await leftovers()).toEqual(["lo", "br1"]);
  });

  it("the reference deletes what ours attached", async () => {
    const config = { cniVersion: "0.3.1", ...CONFIG };
    await add({ ...call, executable: ours }, config);
    await del({ ...call, executable: reference }, config);
    expect(await leftovers()).toEqual(["lo", "br1"]);
  });
});
