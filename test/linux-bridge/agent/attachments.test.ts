import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hostInterfaceAlias, hostInterfaceName } from "../../../cni-plugins/bridge/attachment.ts";
import { attachedKeys, attachmentsThatNeed } from "../../../src/linux-bridge/agent/attachments.ts";
import type { HostLink } from "../../../src/linux-bridge/agent/host-links.ts";

const link = (name: string, alias = ""): HostLink => ({ name, alias, filtersVlans: undefined });

it("finds the interfaces that the plugin made by the alias it gives them", () => {
  const attachment = { network: "br1-net", containerId: "0123abcd", ifname: "net1" };
  const links = [
    link("veth1"),
    link("eth0", "uplink cni-bridge:"),
    link(hostInterfaceName(attachment), hostInterfaceAlias(attachment)),
  ];
  expect(attachedKeys(links)).toEqual(["0123abcd/net1"]);
});

it("keeps the executables for an interface on the host, whatever else is known of it", async () => {
  const node = { recordDirectory: "/no/such", resultDirectories: [], netnsDirectories: [] };
  const links = [link("veth1", "cni-bridge:net/c1/net1")];
  expect(await attachmentsThatNeed(new Set(["tuning"]), links, node)).toEqual(["c1/net1"]);
});

it.each([
  ["is there", "/run/netns/there", ["c1/net1"]],
  ["is gone", "/run/netns/gone", []],
  ["can't be seen, and may be there", "/proc/4711/ns/net", ["c1/net1"]],
])("an attachment whose namespace %s needs its executable or not", async (_, netns, needed) => {
  const directory = await mkdtemp(join(tmpdir(), "node-"));
  try {
    const recordDirectory = join(directory, "records");
    const record = { plugin: "tuning", network: "net", containerId: "c1", ifname: "net1", netns };
    await mkdir(recordDirectory);
    await writeFile(join(directory, "there"), "");
    const text = JSON.stringify({ ...record, config: '{"type":"tuning"}' });
    await writeFile(join(recordDirectory, "c1~net1~tuning.json"), text);
    const node = {
      recordDirectory,
      resultDirectories: [],
      netnsDirectories: [{ directoryOnNode: "/run/netns", directory }],
    };
    expect(await attachmentsThatNeed(new Set(["tuning"]), [], node)).toEqual(needed);
  } finally {
    await rm(directory, { recursive: true });
  }
});
