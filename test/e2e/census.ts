/**
 * What is on a node now, by kind: to compare before and after. Everything that an attachment can leave is in it; what
 * kube-proxy and the node's own services have is not, as they change by themselves.
 */
import type { NodeCluster } from "./node-cluster.ts";

export interface Census {
  /** `NAME master BRIDGE`. */
  readonly links: readonly string[];
  /** `LINK ADDRESS/LENGTH`, without link-local ones. */
  readonly addresses: readonly string[];
  readonly routes: readonly string[];
  /** Tables, chains, rules, sets and elements of nftables, without kube-proxy's. */
  readonly rules: readonly string[];
  /** Files in which plugins and runtime remember attachments and addresses. */
  readonly records: readonly string[];
  /** Named network namespaces. */
  readonly namespaces: readonly string[];
  /** Names of programs. */
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
}

const RECORDS = "/var/lib/cni /run/cni";
/** host-local's own: they stay when no address is taken. */
const NO_RECORDS = /\/(lock|last_reserved_ip\.\d+)$/;
const KUBE_PROXY = "kube-proxy";
/** The command that lists processes, and what kube-proxy runs now and then. */
const PASSING = ["sh", "ps", "nsenter", "nft"];

export async function takeCensus(cluster: NodeCluster, node: string): Promise<Census> {
  const read = (...argv: string[]): Promise<string> => cluster.mustExec(node, argv);
  const json = async (...argv: string[]): Promise<unknown> => JSON.parse((await read(...argv)) || "[]");
  const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "");
  const [links, routes, ruleset, records, namespaces, mounts] = await Promise.all([
    json("ip", "-json", "address"),
    read("ip", "route", "show", "table", "all"),
    json("nft", "--json", "list", "ruleset"),
    read("sh", "-c", `find ${RECORDS} -type f 2>/dev/null || true`),
    read("ls", "/run/netns"),
    read("cat", "/proc/1/mounts"),
  ]);
  const processes = await read("ps", "-A", "-o", "comm=");
  return {
    links: (links as Link[]).map(({ ifname, master }) => `${ifname} master ${master ?? "none"}`).sort(),
    addresses: (links as Link[]).flatMap(addressesOf).sort(),
    routes: lines(routes)
      .filter((route) => !route.includes("fe80::") && !route.includes("multicast"))
      .sort(),
    rules: rulesOf(ruleset as Ruleset).sort(),
    records: lines(records)
      .filter((file) => !NO_RECORDS.test(file))
      .sort(),
    namespaces: lines(namespaces).sort(),
    processes: lines(processes)
      .map((name) => name.trim())
      .filter((name) => !PASSING.includes(name))
      .sort(),
    mounts: lines(mounts)
      .map((line) => line.split(" ").slice(0, 2).join(" on "))
      .sort(),
  };
}

interface Link {
  readonly ifname: string;
  readonly master?: string;
  readonly addr_info: readonly { readonly local: string; readonly prefixlen: number; readonly scope: string }[];
}

const addressesOf = ({ ifname, addr_info }: Link): string[] =>
  addr_info.filter(({ scope }) => scope !== "link").map(({ local, prefixlen }) => `${ifname} ${local}/${prefixlen}`);

interface Ruleset {
  readonly nftables: readonly Readonly<Record<string, { readonly table?: string; readonly name?: string }>>[];
}

/** Handles count up for ever, so they are left out. */
function rulesOf({ nftables }: Ruleset): string[] {
  const entries = nftables.flatMap((entry) => Object.entries(entry)).filter(([kind]) => kind !== "metainfo");
  const others = entries.filter(([kind, { table, name }]) => (kind === "table" ? name : table) !== KUBE_PROXY);
  return others.map(([kind, entry]) => JSON.stringify({ [kind]: { ...entry, handle: undefined } }));
}
