import { describe, expect, it } from "vitest";
import { formatMac } from "../../../src/api/mac.ts";
import { planInterfaces, type RequestedInterface } from "../../../src/mac-pool/admission/interface-plan.ts";
import { MAX_INTERFACES } from "../../../src/mac-pool/claims/limits.ts";

type Given = Partial<Omit<RequestedInterface, "index">> & { readonly name: string };

const [A, B] = ["02:00:00:00:00:0a", "02:00:00:00:00:0b"];

function interfaces(list: readonly Given[]): RequestedInterface[] {
  return list.map((given, index) => ({ index, mac: "", eligible: true, absent: false, ...given }));
}

/** Steps as `claim a 02:..`, or the refusal's code and text. */
function plan(
  now: readonly Given[],
  before: readonly Given[] = [],
  claimedBefore = true,
  judgedAnew = false,
  perNetwork = false,
): string[] {
  const result = planInterfaces({
    ref: { kind: "VirtualMachine", namespace: "default", name: "web" },
    field: "macAddress",
    interfaces: interfaces(now),
    before: interfaces(before),
    claimedBefore,
    judgedAnew,
    perNetwork,
  });
  if (!result.ok) return [result.refusal.code, result.refusal.message];
  return result.steps.map((step) =>
    step.action === "allocate"
      ? `allocate ${step.to.name}`
      : `${step.action} ${step.to.name} ${step.action === "write" ? step.text : formatMac(step.mac)}`,
  );
}

describe("the interfaces of an object that is judged like a new one", () => {
  it("keep their addresses, and have them claimed again", () => {
    const before = [
      { name: "a", mac: A },
      { name: "b", mac: B },
    ];
    expect(plan([{ name: "a", mac: A }, { name: "b" }], before, true, true)).toEqual([
      `claim a ${A}`,
      `claim b ${B}`,
      `write b ${B}`,
    ]);
  });
});

describe("the interfaces of a new object", () => {
  it("get an address or have theirs claimed, if they are the pool's business", () => {
    expect(plan([{ name: "a" }, { name: "b", mac: "0200.0000.000B" }, { name: "c", eligible: false }])).toEqual([
      "allocate a",
      `claim b ${B}`,
    ]);
  });

  it("get none while they are being unplugged", () => {
    expect(plan([{ name: "a", absent: true }])).toEqual([]);
  });

  it("are refused with what, where and what to do", () => {
    expect(plan([{ name: "a", mac: "02:00" }])).toEqual([
      "MACPOOL_INVALID_MAC",
      'invalid MAC address format "02:00" of interface "a" in VirtualMachine default/web. ' +
        "Write six octets, for example 02:00:00:00:00:01, or leave macAddress out to get an address from the pool.",
    ]);
    expect(plan([{ name: "a", mac: "02:00:00:00:00:00:00:01" }])[0]).toBe("MACPOOL_INVALID_MAC");
    expect(plan([{ name: "a", mac: "01:00:5e:00:00:01" }])[1]).toContain("is a multicast address");
    expect(plan([{ name: "a", mac: "ff:ff:ff:ff:ff:ff" }])[1]).toContain("is the broadcast address");
    expect(plan([{ name: "a", mac: "000000000000" }])[1]).toContain("is the all-zero address");
    expect(
      plan([
        { name: "a", mac: A },
        { name: "b", mac: A.toUpperCase() },
      ])[1],
    ).toContain(`duplicate MAC address ${A} in VirtualMachine default/web: interfaces "a" and "b" both have it`);
    expect(plan([{ name: "a" }, { name: "a" }])[1]).toContain("every interface must have a unique name");
    expect(plan([{ name: "" }])[1]).toContain("interface 0 of VirtualMachine default/web has no name");
    const many = Array.from({ length: MAX_INTERFACES + 1 }, (_, index) => ({ name: `n${index}` }));
    expect(plan(many)[0]).toBe("MACPOOL_TOO_MANY_INTERFACES");
    expect(plan([{ name: "x".repeat(10_000) }, { name: "x".repeat(10_000) }])[1]?.length).toBeLessThan(400);
  });
});

describe("the interfaces of a changed object", () => {
  it("need nothing where their addresses stay, wherever they moved", () => {
    expect(plan([{ name: "a", mac: A }], [{ name: "a", mac: A }])).toEqual([]);
    expect(plan([{ name: "b", mac: A }], [{ name: "a", mac: A }])).toEqual([]);
    expect(
      plan(
        [
          { name: "a", mac: B },
          { name: "b", mac: A },
        ],
        [
          { name: "a", mac: A },
          { name: "b", mac: B },
        ],
      ),
    ).toEqual([]);
  });

  it("get their address back where the original manifest leaves it out", () => {
    expect(
      plan(
        [{ name: "b" }, { name: "a" }],
        [
          { name: "a", mac: A },
          { name: "b", mac: B },
        ],
      ),
    ).toEqual([`write b ${B}`, `write a ${A}`]);
  });

  it("get another one where their old address was given to a different interface", () => {
    expect(plan([{ name: "a" }, { name: "b", mac: A }], [{ name: "a", mac: A }])).toEqual(["allocate a"]);
  });

  it("have a changed address claimed, get one when new, and are repaired when they never had one", () => {
    expect(plan([{ name: "a", mac: B }], [{ name: "a", mac: A }])).toEqual([`claim a ${B}`]);
    expect(plan([{ name: "a", mac: A }, { name: "n" }], [{ name: "a", mac: A }])).toEqual(["allocate n"]);
    expect(plan([{ name: "a" }], [{ name: "a" }])).toEqual(["allocate a"]);
  });

  it("keep the notation in which they are written", () => {
    for (const other of ["0200.0000.000A", "02-00-00-00-00-0A", A.toUpperCase()]) {
      expect(plan([{ name: "a", mac: other }])).toEqual([`claim a ${A}`]);
      expect(plan([{ name: "a", mac: other }], [{ name: "a", mac: A }])).toEqual([]);
      expect(plan([{ name: "a", mac: A }], [{ name: "a", mac: other }])).toEqual([]);
      expect(plan([{ name: "b", mac: other }], [{ name: "a", mac: other }])).toEqual([]);
      expect(plan([{ name: "a" }], [{ name: "a", mac: other }])).toEqual([`write a ${other}`]);
    }
  });

  it("are rewritten with colons where twelve digits without them are new, and left alone where they are stored", () => {
    const bare = "02000000000A";
    expect(plan([{ name: "a", mac: bare }])).toEqual([`claim a ${A}`, `write a ${A}`]);
    expect(plan([{ name: "a", mac: bare }], [{ name: "a", mac: A }])).toEqual([`write a ${A}`]);
    expect(plan([{ name: "b", mac: bare }], [{ name: "a", mac: bare }])).toEqual([`write b ${A}`]);
    expect(plan([{ name: "a", mac: bare }], [{ name: "a", mac: bare }])).toEqual([]);
    expect(plan([{ name: "a" }], [{ name: "a", mac: bare }])).toEqual([`write a ${A}`]);
    expect(plan([{ name: "a", mac: bare, eligible: false }], [])).toEqual([]);
  });

  it("have everything claimed where the old object was opted out", () => {
    expect(plan([{ name: "a", mac: A }], [{ name: "a", mac: A }], false)).toEqual([`claim a ${A}`]);
  });

  it("have an address claimed anew where it is on another network, if networks are told apart", () => {
    const before = [{ name: "a", mac: A, network: "multus n" }];
    const moved = [{ name: "a", mac: A, network: "multus m" }];
    expect(plan(moved, before)).toEqual([]);
    expect(plan(moved, before, true, false, true)).toEqual([`claim a ${A}`]);
    expect(plan([{ name: "a", network: "multus m" }], before, true, false, true)).toEqual([
      `claim a ${A}`,
      `write a ${A}`,
    ]);
    expect(plan(before, before, true, false, true)).toEqual([]);
  });

  it("have an address claimed that was on an interface of no concern before", () => {
    expect(plan([{ name: "a", mac: A }], [{ name: "a", mac: A, eligible: false }])).toEqual([`claim a ${A}`]);
  });
});
