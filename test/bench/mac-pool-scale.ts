import { readFile } from "node:fs/promises";
import { formatMac, type Mac, parseMac } from "../../src/api/mac.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { newClaim } from "../../src/mac-pool/core/claim.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { MANAGER_ACCOUNT } from "../../src/operator/components/kube-mac-pool-access.ts";
import { machine } from "../mac-pool/machines.ts";
import { POOL_NAMESPACE, type PoolBed } from "../mac-pool/pool-bed.ts";

const IN_FLIGHT = 32;
const NICS = 10;

/** VMs with ten interfaces each, and the bound claims of their addresses. */
export async function fill(bed: PoolBed, claims: number, log: (line: string) => void): Promise<void> {
  await using pool = await poolClient(bed);
  const start = parseMac("025d1d000000") ?? (0 as Mac);
  const since = new Date().toISOString();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let vm = next++; vm < claims / NICS; vm = next++) {
      if (vm % 1_000 === 0) log(`  ${vm * NICS} claims`);
      const macs = Array.from({ length: NICS }, (_, nic) => (start + vm * NICS + nic) as Mac);
      const interfaces = macs.map((mac, nic) => ({ name: `nic${nic}`, macAddress: formatMac(mac) }));
      const created = await bed.admin.create(KINDS.virtualMachines, machine(`vm-${vm}`, "default", interfaces));
      const { name = "", uid = "" } = created.metadata;
      for (const [nic, mac] of macs.entries()) {
        const owner = {
          ...{ kind: "VirtualMachine" as const, namespace: "default", name, uid },
          ...{ interface: `nic${nic}`, network: "multus br1-net", since },
        };
        await pool.create(
          KINDS.claims,
          newClaim(mac, { pool: "default", origin: "explicit" }, { phase: "Bound", owners: [owner] }),
        );
      }
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}

/** A bare client that may write claims. */
export async function poolClient({ controlPlane }: PoolBed): Promise<KubeClient> {
  const user = `system:serviceaccount:${POOL_NAMESPACE}:${MANAGER_ACCOUNT}`;
  const kubeconfig = await controlPlane.userKubeconfig(user, ["system:masters"]);
  return new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
}

/** Resident memory of a process, in MB. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
}
