import { formatMac, type Mac } from "../../src/api/mac.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { newClaim } from "../../src/mac-pool/claims/claim.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { MANAGER_ACCOUNT } from "../../src/operator/components/kube-mac-pool-access.ts";
import { machine } from "../mac-pool/machines.ts";
import { POOL_NAMESPACE, type PoolFixture } from "../mac-pool/pool-fixture.ts";
import { inFlight } from "../support/in-flight.ts";

const IN_FLIGHT = 32;
/** What users write into a VM beside its interfaces, in bytes. */
const OTHER_BYTES = 1_500;

export interface Filling {
  readonly prefix: string;
  readonly firstMac: Mac;
  readonly vms: number;
  /** Interfaces of each. */
  readonly nics: number;
  /** Whether their addresses have claims. */
  readonly claimed: boolean;
}

/** VMs of 2 kB and more, with or without the bound claims of their addresses. */
export async function fill(harness: PoolFixture, filling: Filling, log: (line: string) => void): Promise<void> {
  const { prefix, firstMac, vms, nics, claimed } = filling;
  await using pool = new KubeClient({ credentials: await credentialsFromKubeconfig(await poolKubeconfig(harness)) });
  const since = new Date().toISOString();
  await inFlight(IN_FLIGHT, vms, async (vm) => {
    if (vm % (vms / 10) === 0) log(`  ${vm} VMs`);
    const macs = Array.from({ length: nics }, (_, nic) => (firstMac + vm * nics + nic) as Mac);
    const interfaces = macs.map((mac, nic) => ({ name: `nic${nic}`, macAddress: formatMac(mac) }));
    const written = machine(`${prefix}-${vm}`, "default", interfaces);
    const annotations = { "example.com/notes": "n".repeat(OTHER_BYTES) };
    const created = await harness.admin.create(KINDS.virtualMachines, {
      ...written,
      metadata: { ...written.metadata, annotations },
    });
    if (!claimed) return;
    const { name = "", uid = "" } = created.metadata;
    for (const [nic, mac] of macs.entries()) {
      const owner = {
        ...{ kind: "VirtualMachine" as const, namespace: "default", name, uid },
        ...{ interface: `nic${nic}`, network: "multus br1-net", since },
      };
      const status = { phase: "Allocated" as const, owners: [owner] };
      await pool.create(KINDS.claims, newClaim(mac, { pool: "default", origin: "explicit" }, status));
    }
  });
}

/** Of the pool's own account, and without its limits. */
export function poolKubeconfig({ controlPlane }: PoolFixture): Promise<string> {
  return controlPlane.userKubeconfig(`system:serviceaccount:${POOL_NAMESPACE}:${MANAGER_ACCOUNT}`, ["system:masters"]);
}
