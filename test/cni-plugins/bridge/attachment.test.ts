import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attachmentOfAlias, hostInterfaceAlias, hostInterfaceName } from "../../../cni-plugins/bridge/attachment.ts";

const attachment = { network: "br1-net", containerId: "0a1b2c", ifname: "net1" };

describe("an attachment's host interface", () => {
  it("has a name of the form that the reference uses, always the same", () => {
    // Kept across versions: a DEL by a newer executable finds what an older one made by this name.
    expect(hostInterfaceName(attachment)).toBe("vetha7d8e2fa");
    expect(hostInterfaceName(attachment, 1)).toMatch(/^veth[0-9a-f]{8}$/);
    expect(hostInterfaceName(attachment, 1)).not.toBe(hostInterfaceName(attachment));
  });

  it("shares its name with no other of twenty thousand similar attachments, but for a few", () => {
    const names = new Set<string>();
    for (let i = 0; i < 20_000; i++) names.add(hostInterfaceName({ ...attachment, containerId: `pod${i}` }));
    expect(names.size).toBeGreaterThan(19_990);
  });

  it("tells by its alias whose it is", () => {
    expect(hostInterfaceAlias(attachment)).toBe("cni-bridge:br1-net/0a1b2c/net1");
    expect(attachmentOfAlias(hostInterfaceAlias(attachment), "br1-net")).toEqual(attachment);
    expect(attachmentOfAlias(hostInterfaceAlias(attachment), "br1")).toBeUndefined();
    expect(attachmentOfAlias("somebody else's", "br1-net")).toBeUndefined();
  });

  it.each([219, 252, 5000])("has an alias that fits the kernel's limit and is its own with an id of %i", (length) => {
    const containerId = "c".repeat(length);
    const long = { network: "n".repeat(200), containerId, ifname: "fifteen-letters" };
    expect(hostInterfaceAlias(long).length).toBeLessThanOrEqual(255);
    expect(hostInterfaceAlias(long)).not.toBe(hostInterfaceAlias({ ...long, containerId: `${containerId}c` }));
    expect(attachmentOfAlias(hostInterfaceAlias(long), "n".repeat(200))).toMatchObject({ ifname: "fifteen-letters" });
  });

  it("has an alias that fits the kernel's limit, however long the network's name is", () => {
    const identifier = fc.stringMatching(/^[a-z0-9][a-z0-9_.-]{0,252}$/);
    fc.assert(
      fc.property(identifier, fc.stringMatching(/^[a-f0-9]{1,64}$/), (network, containerId) => {
        const alias = hostInterfaceAlias({ network, containerId, ifname: "net1" });
        expect(alias.length).toBeLessThanOrEqual(255);
        expect(attachmentOfAlias(alias, network)).toEqual({ network, containerId, ifname: "net1" });
      }),
    );
  });
});
