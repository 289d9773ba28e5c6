/**
 * `list-links.ts [TIMES [NAMESPACE]]`: lists the links of its network namespace, or of the one that the kernel gave this number
 * in it, and prints each list or error, and what stays open.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { listLinks } from "../../../src/linux-bridge/agent/host-links.ts";

async function openNetlinkSockets(): Promise<number> {
  const descriptors = (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
  const inodes = (await readFile("/proc/self/net/netlink", "utf8"))
    .split("\n")
    .map((line) => line.trim().split(/ +/).at(-1));
  return (await Promise.all(descriptors)).filter((link) => inodes.some((inode) => link === `socket:[${inode}]`)).length;
}

const namespaceId = process.argv[3] === undefined ? undefined : Number(process.argv[3]);
const lists: unknown[] = [];
for (let times = Number(process.argv[2] ?? 1); times > 0; times--) {
  lists.push(await listLinks(namespaceId).catch((error: Error) => error.message));
}
console.log(JSON.stringify({ lists, open: await openNetlinkSockets() }));
