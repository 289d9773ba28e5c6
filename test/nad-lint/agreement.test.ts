import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bridge } from "../../cni-plugins/bridge/bridge.ts";
import { DECODING_FAILURE, INCOMPATIBLE_VERSION, INVALID_CONFIG, IO_FAILURE } from "../../cni-plugins/cni/cni-error.ts";
import { runPlugin } from "../../cni-plugins/cni/plugin.ts";
import { tuning } from "../../cni-plugins/tuning/tuning.ts";
import { readPlugin } from "../../src/nad-lint/plugin-checks.ts";
import { MemoryKernel } from "../cni-plugins/memory-kernel.ts";
import { MemorySyscalls } from "../cni-plugins/memory-syscalls.ts";
import { generateCase, type Kind } from "../netns/differential/case-generator.ts";
import { BRIDGE, makeDocument, TUNING } from "../netns/hostile-document.ts";
import { Random } from "../support/random.ts";
import { share } from "../support/share.ts";

const NETNS = "/run/netns/pod";
/** Codes of an ADD that are about its configuration, where the node is as it should be. */
const REFUSALS: readonly unknown[] = [INCOMPATIBLE_VERSION, IO_FAILURE, DECODING_FAILURE, INVALID_CONFIG];

/** The message with which an ADD refuses its configuration; undefined for one that it takes. */
function refusalOfAdd(name: "bridge" | "tuning", stdin: string): string | undefined {
  const kernel = new MemoryKernel();
  kernel.namespaces.add(NETNS);
  kernel.addLink({ name: "eth0", namespace: NETNS, kind: "veth" });
  const CNI_IFNAME = name === "tuning" ? "eth0" : "net1";
  const env = { CNI_COMMAND: "ADD", CNI_CONTAINERID: "pod", CNI_NETNS: NETNS, CNI_IFNAME, CNI_PATH: "/bin" };
  const syscalls = new MemorySyscalls(kernel, env, stdin);
  runPlugin(syscalls, { bridge, tuning }[name]);
  if (syscalls.exitCode === 0) return undefined;
  const { code, msg } = syscalls.answer();
  return REFUSALS.includes(code) ? String(msg) : undefined;
}

function refusalOfLint(name: "bridge" | "tuning", stdin: string): string | undefined {
  const { findings } = readPlugin({ place: "", type: name, stdin }, name);
  return findings.find(({ code }) => code === "plugin-refuses")?.message;
}

function expectAgreement(name: "bridge" | "tuning", stdin: string): void {
  const [add, lint] = [refusalOfAdd(name, stdin), refusalOfLint(name, stdin)];
  if ((add === undefined) !== (lint === undefined)) {
    expect.fail(`${name} ${stdin.slice(0, 500)}\n  ADD: ${add ?? "takes it"}\n  lint: ${lint ?? "takes it"}`);
  }
}

const KEYS = {
  bridge: [...BRIDGE.keys, "vlan", "vlanTrunk", "preserveDefaultVlan", "portIsolation", "quiet", "IsGateway", "type"],
  tuning: [...TUNING.keys, "MTU"],
};
const VALUES = fc.oneof(
  fc.boolean(),
  fc.integer({ min: -2, max: 70_000 }),
  fc.constantFrom(
    "true",
    "false",
    "1500",
    "inherit",
    "br1",
    "",
    "yes",
    "a/b",
    "nftables",
    "02:00:00:00:00:01",
    "bridge",
  ),
  fc.constantFrom<unknown>(
    null,
    [],
    {},
    { type: "" },
    { type: "bridge" },
    { type: "../x" },
    [{ id: 5 }],
    ["02:00:00:00:00:01", "02:00:00:00:00:00/24"],
    ["02:00:00:00:00:01/24"],
    [{ minID: 9, maxID: 2 }],
    [{}],
  ),
  fc.constantFrom<unknown>({ cni: { mac: "02:00" } }, { mac: 5 }, { "net.ipv4.ip_forward": "1" }, { "kernel.x": "1" }),
  fc.jsonValue(),
);

describe("the lint and an ADD", () => {
  it.each(["bridge", "tuning"] as const)("refuse the same configurations of %s", (name) => {
    const base = { cniVersion: "1.1.0", name: "net", type: name, ...(name === "tuning" ? { prevResult: {} } : {}) };
    const keys = fc.constantFrom(...KEYS[name]);
    const configs = fc.dictionary(keys, VALUES, { maxKeys: 4 }).map((some) => JSON.stringify({ ...base, ...some }));
    fc.assert(
      fc.property(configs, (stdin) => expectAgreement(name, stdin)),
      { numRuns: share(4_000) },
    );
  });

  it("refuse the path of an IPAM plugin before the node is changed", () => {
    const config = { cniVersion: "1.1.0", name: "net", type: "bridge", ipam: { type: "../x" }, macspoofchk: true };
    expect(refusalOfAdd("bridge", JSON.stringify(config))).toContain('without "/"');
  });

  it.each([
    ["plain", "bridge"],
    ["vlan", "bridge"],
    ["tuning", "tuning"],
  ] as const)("refuse the same cases of the differential test: %s", (kind: Kind, name) => {
    for (let number = 0; number < share(1_500); number++) {
      expectAgreement(name, JSON.stringify(generateCase(1, number, kind).config));
    }
  });

  it.each([
    ["bridge", BRIDGE],
    ["tuning", TUNING],
  ] as const)("refuse the same hostile documents for %s", (name, original) => {
    let refused = 0;
    for (let number = 0; number < share(1_500); number++) {
      const document = makeDocument(new Random(7_000_003 + number), original);
      // A NetworkAttachmentDefinition is text, and stdin has a limit that the lint knows by itself.
      const stdin = typeof document === "string" ? document : document.toString();
      if (stdin.length > 1 << 20) continue;
      expectAgreement(name, stdin);
      refused += refusalOfLint(name, stdin) === undefined ? 0 : 1;
    }
    expect(refused).toBeGreaterThan(100);
    expect(refused).toBeLessThan(1400);
  });
});
