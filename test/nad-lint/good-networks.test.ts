import { describe, expect, it } from "vitest";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import type { Finding } from "../../src/nad-lint/finding.ts";
import { lintNetwork } from "../../src/nad-lint/lint.ts";
import { attachmentDefinition } from "../cluster/demo/objects.ts";
import { generateCase, type Kind } from "../netns/differential/case-generator.ts";
import { share } from "../support/share.ts";

interface Nad {
  readonly kind?: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly config: string };
}

function findingsIn({ metadata, spec }: Nad): Finding[] {
  const { name, annotations = {} } = metadata;
  return lintNetwork({ name, annotations, config: spec.config }).filter(({ severity }) => severity !== "note");
}

/** Absent is 0.1.0. */
const ONE_ADDRESS_VERSIONS: readonly unknown[] = ["0.1.0", "0.2.0", undefined];

/** What the generator of the differential test makes on purpose, and both plugins take. */
function plannedMistakes(config: Readonly<Record<string, unknown>>): string[] {
  const lower = Object.fromEntries(Object.entries(config).map(([key, value]) => [key.toLowerCase(), value]));
  const trunk = (lower.vlantrunk ?? []) as readonly { id?: number; idd?: number; minID?: number; maxID?: number }[];
  const vlan = lower.vlan as number | undefined;
  const holds = ({ id, minID = id, maxID = id }: (typeof trunk)[number]) =>
    vlan && minID !== undefined && maxID !== undefined && minID <= vlan && vlan <= maxID;
  return [
    ...(trunk.some(holds) ? ["vlan-in-trunk"] : []),
    // `{}`, and `{"idd": 5}`, which has an unknown key and no VLAN.
    ...(trunk.some(({ idd }) => idd === 5) ? ["key-ignored", "key-ignored", "key-ignored"] : []),
  ];
}

describe("the lint", () => {
  it("finds nothing in the demo's network", () => {
    expect(findingsIn(attachmentDefinition() as Nad)).toEqual([]);
  });

  it.each<Kind>(["plain", "vlan", "tuning"])(
    "finds nothing in the %s cases of the differential test that a plugin takes, but their planned mistakes",
    (kind) => {
      let taken = 0;
      for (let number = 0; number < share(1_500); number++) {
        const { config, spoiled } = generateCase(1, number, kind);
        // A scope that does not fit the route's gateway is a mistake, which the generator makes on purpose.
        const text = JSON.stringify(config).replaceAll("DATA", "/run/data").replaceAll('"scope":', '"priority":');
        const bridge = Object.entries(config).find(([key]) => key.toLowerCase() === "bridge")?.[1] ?? "cni0";
        const annotations = { [NAD_RESOURCE_NAME_ANNOTATION]: `bridge.network.kubevirt.io/${bridge}` };
        const findings = findingsIn({ metadata: { name: "net", annotations }, spec: { config: text } });
        // The generator gives networks an address on purpose.
        const codes = findings.map(({ code }) => code).filter((code) => code !== "mac-in-network");
        if (spoiled !== undefined || codes.includes("plugin-refuses")) continue;
        // The IPAM plugins refuse several addresses of a family then, which the generator makes on purpose.
        if (codes.includes("ipam-refuses") && ONE_ADDRESS_VERSIONS.includes(config.cniVersion)) continue;
        taken++;
        if (String(codes) !== String(plannedMistakes(config))) expect.fail(`case ${number}: ${codes}\n${text}`);
      }
      expect(taken).toBeGreaterThan(share(1_500) / 3);
    },
  );
});
