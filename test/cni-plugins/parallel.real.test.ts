import { beforeEach, describe, expect, it } from "vitest";
import { call, freshPreparedNode, node } from "../netns/prepared-node.ts";

/** Containers at once: a few here, 100 with CNI_PARALLEL=100, which takes a minute or two. */
const COUNT = Number(process.env.CNI_PARALLEL ?? 6);

const BRIDGE = "br2";
const LAYER_2 = { cniVersion: "1.0.0", name: "br2-net", type: "bridge", bridge: BRIDGE };
const IPAM = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/16" }]] };
const ALL = { ...LAYER_2, isGateway: true, ipMasq: true, ipMasqBackend: "nftables", macspoofchk: true, ipam: IPAM };
const CONFIGS: readonly [string, object][] = [
  ["on layer 2", LAYER_2],
  ["with addresses, masquerading and spoof checks", ALL],
];
const TRY_AGAIN_LATER = 11;
const NETNS_UNUSABLE = 104;

/** What stays on purpose: tables without rules, where host-local begins to search, and its lock. */
const LEFT = "ip -o link | grep -v keep; nft list ruleset | grep c0-; find /run/cni /run/leases -type f";
const STAYS = /last_reserved_ip|\/lock$/;

freshPreparedNode();
beforeEach(async () => {
  await node.shell(`mkdir -p /run/out; for i in $(seq ${COUNT}); do ip netns add c0-$i; done`);
});

interface Answer {
  readonly code: number;
  readonly error: number | undefined;
}

/** Starts the calls of all containers at once, and `meanwhile` for each; `$i` is its number. One answer for each call. */
async function atOnce(commands: readonly string[], config: object, meanwhile = ""): Promise<Record<string, Answer[]>> {
  const { CNI_PATH } = call.env ?? {};
  const run = commands.map(
    (command) =>
      `(CNI_COMMAND=${command} CNI_NETNS=/run/netns/c0-$i ${call.executable} <$in >$out/${command}-$i; echo " $?" >>$out/${command}-$i) &`,
  );
  const printed = await node.shell(`in=/run/config out=/run/out; rm -f $out/*
    export CNI_IFNAME=net1 CNI_PATH=${CNI_PATH}
    printf %s '${JSON.stringify(config)}' >$in
    for i in $(seq ${COUNT}); do export CNI_CONTAINERID=c0-$i; ${run.join("\n")} ${meanwhile} done; wait
    for f in $out/*; do echo "$(basename $f) $(tr -d '\\n' <$f)"; done`);
  const answers: Record<string, Answer[]> = Object.fromEntries(commands.map((command) => [command, []]));
  for (const line of printed.trim().split("\n")) {
    const [, command = "", document = "", code] = /^([A-Z]+)-\d+ (.*) (\d+)$/.exec(line) ?? [];
    const answer = document.trim() === "" ? {} : JSON.parse(document);
    answers[command]?.push({ code: Number(code), error: answer.code });
  }
  return answers;
}

const succeeded = { code: 0, error: undefined };
const all = (answer: Answer): Answer[] => Array.from({ length: COUNT }, () => answer);

async function left(): Promise<string[]> {
  const printed = await node.shell(`${LEFT}; true`);
  return printed.split("\n").filter((line) => line !== "" && !/^\d+: (lo|br\d):?/.test(line) && !STAYS.test(line));
}

async function expectNothingLeft(config: object): Promise<void> {
  expect(await atOnce(["DEL"], config)).toEqual({ DEL: all(succeeded) });
  expect(await left()).toEqual([]);
}

describe(`${COUNT} calls at once`, () => {
  it.each(CONFIGS)("ADDs %s make one bridge with all of them, and DELs leave nothing", async (_, config) => {
    expect(await atOnce(["ADD"], config)).toEqual({ ADD: all(succeeded) });
    const ports = await node.shell(`ip -o link show master ${BRIDGE} | wc -l`);
    expect(Number(ports)).toBe(COUNT);
    const names = await node.shell(`for i in $(seq ${COUNT}); do ip -n c0-$i -o link show net1 up; done | wc -l`);
    expect(Number(names)).toBe(COUNT);
    await expectNothingLeft(config);
  });

  it.each(CONFIGS)("ADDs and DELs of the same containers %s", async (_, config) => {
    const { ADD, DEL } = await atOnce(["ADD", "DEL"], config);
    expect(DEL).toEqual(all(succeeded));
    for (const one of ADD ?? []) expect([undefined, TRY_AGAIN_LATER]).toContain(one.error);
    await expectNothingLeft(config);
  });

  it.each(CONFIGS)("ADDs %s while the bridge is deleted again and again", async (_, config) => {
    const { ADD } = await atOnce(["ADD"], config, `ip link del ${BRIDGE} 2>/dev/null;`);
    for (const one of ADD ?? []) expect([undefined, TRY_AGAIN_LATER]).toContain(one.error);
    await expectNothingLeft(config);
  });

  it.each(CONFIGS)("ADDs %s while their namespaces are deleted", async (_, config) => {
    const { ADD } = await atOnce(["ADD"], config, "ip netns del c0-$i;");
    for (const one of ADD ?? []) expect([undefined, TRY_AGAIN_LATER, NETNS_UNUSABLE]).toContain(one.error);
    await expectNothingLeft(config);
  });
});
