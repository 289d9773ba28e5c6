/** What real nodes need from the machine, each missing thing in one sentence, before anything is started. */
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { runCommand } from "../cluster/command.ts";
import {
  isRoot,
  MissingRequirement,
  plainEnv,
  requireExecutables,
  requireNamespaces,
} from "../cluster/requirements.ts";
import { findHierarchies, type Hierarchies } from "./cgroups.ts";
import { findRunc } from "./node-programs.ts";

const ARCHITECTURES = ["x64", "arm64"];
const NEEDED_BYTES = 3 * 1024 ** 3;

/** What kube-proxy's nftables mode uses, in a table that goes with the network namespace. */
const SERVICE_RULES = `table ip probe {
  map services { type ipv4_addr . inet_proto . inet_service : verdict; }
  chain endpoint { meta l4proto tcp dnat to 127.0.0.1:80; }
  chain service { numgen random mod 1 vmap { 0 : goto endpoint }; }
  chain output { type nat hook output priority -100; ip daddr . meta l4proto . th dport vmap @services; fib daddr type local; }
  chain postrouting { type nat hook postrouting priority 100; mark and 0x4000 != 0 masquerade fully-random; }
}`;

export async function requireRealNodes(): Promise<Hierarchies> {
  if (!isRoot())
    throw new MissingRequirement(
      "Real nodes need root, because kubelet and containerd mount and make control groups: run this as root.",
    );
  if (!ARCHITECTURES.includes(process.arch)) {
    throw new MissingRequirement(
      `Real nodes run on ${ARCHITECTURES.join(" and ")}; this machine is ${process.arch}: take another.`,
    );
  }
  await requireNamespaces();
  requireExecutables(["nft"], "by kube-proxy", "nftables");
  requireExecutables(["cc", "tar"], "to make the test images", "gcc");
  requireExecutables(["busybox"], "in test pods", "busybox-static");
  findRunc();
  await requireServiceRules();
  await requireSpace();
  return await findHierarchies();
}

async function requireServiceRules(): Promise<void> {
  const tried = await runCommand(["unshare", "--net", "nft", "-f", "-"], { stdin: SERVICE_RULES, env: plainEnv() });
  if (tried.code === 0) return;
  const [reason = ""] = tried.stderr.trim().split("\n");
  throw new MissingRequirement(
    `This kernel's nftables lacks what kube-proxy needs (${reason.trim()}): load its modules (modprobe nf_tables nft_chain_nat), or take another kernel.`,
  );
}

async function requireSpace(): Promise<void> {
  const { bavail, bsize } = await statfs(tmpdir());
  if (bavail * bsize >= NEEDED_BYTES) return;
  const gib = (bytes: number): string => (bytes / 1024 ** 3).toFixed(1);
  throw new MissingRequirement(
    `${tmpdir()} has ${gib(bavail * bsize)} GiB left; real nodes need ${gib(NEEDED_BYTES)} GiB for images and logs (TMPDIR names another place).`,
  );
}
