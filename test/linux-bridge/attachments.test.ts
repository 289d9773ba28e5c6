import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hostInterfaceAlias, hostInterfaceName } from "../../cni-plugins/bridge/attachment.ts";
import { attachedInterfaces, attachmentsThatNeed, showsOwnLinks } from "../../src/linux-bridge/attachments.ts";

it("finds the interfaces that the plugin made by the alias it gives them", async () => {
  const directory = await mkdtemp(join(tmpdir(), "links-"));
  try {
    const attachment = { network: "br1-net", containerId: "0123abcd", ifname: "net1" };
    const name = hostInterfaceName(attachment);
    const links = { [name]: `${hostInterfaceAlias(attachment)}\n`, veth1: "\n", eth0: "uplink cni-bridge:\n" };
    for (const [link, alias] of Object.entries(links)) {
      await mkdir(join(directory, link));
      await writeFile(join(directory, link, "ifalias"), alias);
    }
    await writeFile(join(directory, "bonding_masters"), "");
    expect(await attachedInterfaces(directory)).toEqual([{ name, key: "0123abcd/net1" }]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it("takes no interface for absent whose alias can't be read", async () => {
  const directory = await mkdtemp(join(tmpdir(), "links-"));
  try {
    await mkdir(join(directory, "veth1", "ifalias"), { recursive: true });
    await expect(attachedInterfaces(directory)).rejects.toThrow("EISDIR");
  } finally {
    await rm(directory, { recursive: true });
  }
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
    const node = { recordDirectory, resultDirectories: [], netnsDirectory: directory, linksDirectory: recordDirectory };
    expect(await attachmentsThatNeed(new Set(["tuning"]), node)).toEqual(needed);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it("knows its own links from those of another network namespace", async () => {
  expect(await showsOwnLinks("/sys/class/net", "/proc/self/net/dev")).toBe(true);
  const directory = await mkdtemp(join(tmpdir(), "links-"));
  try {
    expect(await showsOwnLinks(directory, "/proc/self/net/dev")).toBe(false);
    const own = (await readFile("/proc/self/net/dev", "utf8")).matchAll(/^ *(\S+): /gm);
    for (const [, name = ""] of own) await mkdir(join(directory, name));
    expect(await showsOwnLinks(directory, "/proc/self/net/dev")).toBe(true);
  } finally {
    await rm(directory, { recursive: true });
  }
});
