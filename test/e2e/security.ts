/** What the kernel says about the first process of a container: the truth behind a pod's securityContext. */
import type { NodeCluster } from "./node-cluster.ts";

export interface ProcessSecurity {
  /** Names of effective capabilities, "CAP_" and the case left out. */
  readonly capabilities: readonly string[];
  readonly noNewPrivileges: boolean;
  /** 0 none, 1 strict, 2 a filter. */
  readonly seccomp: number;
  readonly uid: number;
  readonly gid: number;
  readonly readOnlyRoot: boolean;
  /** Whether a service account's token is mounted. */
  readonly token: boolean;
  /** Whether it shares the node's network namespace. */
  readonly hostNetwork: boolean;
}

export interface ContainerMemory {
  readonly usedBytes: number;
  /** Without what the kernel can take back at any time. */
  readonly workingSetBytes: number;
  readonly limitBytes: number | undefined;
}

/** In images whose /var/run is a link to /run the mount point is there. */
const TOKEN = "/run/secrets/kubernetes.io/serviceaccount";
/** include/uapi/linux/capability.h, in the order of the bits. */
const CAPABILITIES = [
  ...["chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap"],
  ...["linux_immutable", "net_bind_service", "net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner"],
  ...["sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin", "sys_boot", "sys_nice"],
  ...["sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write", "audit_control", "setfcap"],
  ...["mac_override", "mac_admin", "syslog", "wake_alarm", "block_suspend", "audit_read", "perfmon", "bpf"],
  "checkpoint_restore",
];

/** Pid, in the node's PID namespace, of a container that the runtime knows by `id`. */
export async function pidOf(cluster: NodeCluster, node: string, id: string): Promise<number> {
  const tasks = await must(cluster, node, ["ctr", "tasks", "list"]);
  const line = tasks.split("\n").find((task) => task.startsWith(id));
  const pid = Number(line?.split(/\s+/)[1]);
  if (!(pid > 0)) throw new Error(`container ${id} does not run on ${node}:\n${tasks}`);
  return pid;
}

/** `id` is the container's, without "containerd://". */
export async function processSecurity(cluster: NodeCluster, node: string, id: string): Promise<ProcessSecurity> {
  const pid = await pidOf(cluster, node, id);
  const [status, mounts, own, hosts] = await Promise.all([
    must(cluster, node, ["cat", `/proc/${pid}/status`]),
    must(cluster, node, ["cat", `/proc/${pid}/mountinfo`]),
    must(cluster, node, ["readlink", `/proc/${pid}/ns/net`]),
    must(cluster, node, ["readlink", "/proc/1/ns/net"]),
  ]);
  const field = (name: string): string => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
  const effective = BigInt(`0x${field("CapEff")}`);
  const mountPoints = mounts.split("\n").map((line) => line.split(" "));
  const root = mountPoints.find(([, , , , path]) => path === "/");
  return {
    capabilities: CAPABILITIES.filter((_, bit) => ((effective >> BigInt(bit)) & 1n) === 1n),
    noNewPrivileges: field("NoNewPrivs") === "1",
    seccomp: Number(field("Seccomp")),
    uid: Number(field("Uid").split("\t")[1]),
    gid: Number(field("Gid").split("\t")[1]),
    readOnlyRoot: (root?.[5] ?? "").split(",").includes("ro"),
    token: mountPoints.some(([, , , , path]) => path?.endsWith(TOKEN)),
    hostNetwork: own === hosts,
  };
}

/** What the container's control group counts, as the kubelet reads it. */
export async function containerMemory(cluster: NodeCluster, node: string, id: string): Promise<ContainerMemory> {
  const pid = await pidOf(cluster, node, id);
  const groups = await must(cluster, node, ["cat", `/proc/${pid}/cgroup`]);
  const version1 = /^\d+:memory:(.*)$/m.exec(groups)?.[1];
  const version2 = /^0::(.*)$/m.exec(groups)?.[1];
  const folder = version1 === undefined ? `/sys/fs/cgroup${version2}` : `/sys/fs/cgroup/memory${version1}`;
  const [usage, limit, inactive] =
    version1 === undefined
      ? (["memory.current", "memory.max", "inactive_file"] as const)
      : (["memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file"] as const);
  const read = (file: string): Promise<string> => must(cluster, node, ["cat", `${folder}/${file}`]);
  const usedBytes = Number(await read(usage));
  const reclaimable = Number(new RegExp(`^${inactive} (\\d+)$`, "m").exec(await read("memory.stat"))?.[1] ?? 0);
  const limitBytes = Number(await read(limit));
  return {
    usedBytes,
    workingSetBytes: usedBytes - reclaimable,
    limitBytes: Number.isSafeInteger(limitBytes) && limitBytes < 2 ** 50 ? limitBytes : undefined,
  };
}

async function must(cluster: NodeCluster, node: string, argv: readonly string[]): Promise<string> {
  return (await cluster.mustExec(node, argv)).trim();
}
