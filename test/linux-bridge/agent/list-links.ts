/** `list-links.ts [TIMES]`: lists the links of its network namespace, and prints each list or error, and what stays open. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { listLinks } from "../../../src/linux-bridge/agent/host-links.ts";

async function openNetlinkSockets(): Promise<number> {
  const descriptors = (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
  const inodes = (await readFile("/proc/self/net/netlink", "utf8"))
    .split("\n")
    .map((line) => line.trim().split(/ +/).at(-1));
  return (await Promise.all(descriptors)).filter((link) => inodes.some((inode) => link === `socket:[${inode}]`)).length;
}

const lists: unknown[] = [];
for (let times = Number(process.argv[2] ?? 1); times > 0; times--) {
  lists.push(await listLinks().catch((error: Error) => error.message));
}
console.log(JSON.stringify({ lists, open: await openNetlinkSockets() }));
