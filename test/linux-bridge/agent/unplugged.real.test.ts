import { join } from "node:path";
import { expect, it } from "vitest";
import type { PairedLink } from "../../../src/linux-bridge/agent/host-links.ts";
import { findUnplugged } from "../../../src/linux-bridge/agent/unplugged.ts";
import { add, del } from "../../netns/cni-call.ts";
import { BRIDGE, call, freshPreparedNode, node } from "../../netns/prepared-node.ts";
import { bindByBridge, bindingNames, unbindByBridge } from "../../virtual-machine/bridge-binding.ts";

const LIST_LINKS = join(import.meta.dirname, "list-links.ts");
const IFNAME = "pod9a6a0c3b4d8";
const CONFIG = { cniVersion: "1.0.0", name: "blue", type: "bridge", bridge: BRIDGE };

freshPreparedNode();

const inPod = (argv: readonly string[]) => node.container.run(argv, { env: { PATH: process.env.PATH ?? "" } });

/** As the agent sees it, which is in no namespace but the host's. */
const unplugged = () =>
  findUnplugged(async (namespaceId) => {
    const argv = [process.execPath, LIST_LINKS, "1", ...(namespaceId === undefined ? [] : [`${namespaceId}`])];
    const { stdout } = await node.node.run(argv);
    const [links]: (readonly PairedLink[] | string)[] = JSON.parse(stdout).lists;
    if (links === undefined || typeof links === "string") throw new Error(links);
    return links;
  });

it("finds what KubeVirt unplugged in a running pod until its DEL, and nothing that is used", async () => {
  const launcher = { ...call, ifname: IFNAME };
  const { interfaces } = await add(launcher, CONFIG);
  await add({ ...call, ifname: "net2" }, CONFIG);
  const port = interfaces.find(({ name }) => name.startsWith("veth"))?.name ?? "";
  expect(await unplugged()).toEqual([]);
  await bindByBridge(inPod, IFNAME);
  expect(await unplugged()).toEqual([]);
  await inPod(["ip", "link", "set", "net2", "name", "storage"]);
  await unbindByBridge(inPod, IFNAME);
  expect(await node.container.link(bindingNames(IFNAME).nic)).toMatchObject({ operstate: "UP" });
  expect(await unplugged()).toEqual([{ network: "blue", containerId: "container", ifname: IFNAME, port }]);
  await del(launcher, CONFIG);
  expect(await unplugged()).toEqual([]);
});
