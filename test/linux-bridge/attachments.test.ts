import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hostInterfaceAlias, hostInterfaceName } from "../../cni-plugins/bridge/attachment.ts";
import { attachedInterfaces } from "../../src/linux-bridge/attachments.ts";

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
    expect(await attachedInterfaces(directory)).toEqual([name]);
  } finally {
    await rm(directory, { recursive: true });
  }
});
