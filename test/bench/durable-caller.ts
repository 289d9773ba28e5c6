/**
 * Child process of the MAC pool's benchmark: makes a second of calls at a steady rate, whether or not the one before was
 * answered, and tells the milliseconds of each. It is small, so that what it measures is not its own collection of garbage.
 */
import { type Mac, parseMac } from "../../src/api/mac.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { newClaim } from "../../src/mac-pool/core/claim.ts";
import { pendingStatus } from "../../src/mac-pool/core/grant.ts";
import { PENDING_MS } from "../../src/mac-pool/core/limits.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { admissionReview, Caller, virtualMachine } from "./mac-pool-calls.ts";

export type DurableOrder =
  | {
      readonly what: "begin";
      /** Of an account that may write claims. */
      readonly kubeconfig: string;
      /** Of the pool's webhooks. */
      readonly port: number;
      readonly namespaces: readonly string[];
    }
  /** So many calls, at this rate: admissions of VMs that need two addresses, or the two writes alone. */
  | { readonly what: "admit" | "create"; readonly calls: number; readonly perSecond: number };

let admit: () => Promise<number> = unprepared;
let create: () => Promise<number> = unprepared;

process.on("message", async (order: DurableOrder) => {
  if (order.what === "begin") {
    await begin(order.kubeconfig, order.port, order.namespaces);
    process.send?.([]);
  } else process.send?.(await steadily(order.what === "admit" ? admit : create, order.calls, order.perSecond));
});
process.on("disconnect", () => process.exit(0));

async function begin(kubeconfig: string, port: number, namespaces: readonly string[]): Promise<void> {
  const caller = new Caller(port);
  const client = new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
  const namespaceOf = (index: number): string => namespaces[index % namespaces.length] ?? "";
  let vm = 0;
  admit = () => {
    const [name, namespace] = [`vm-${vm}`, namespaceOf(vm)];
    vm += 1;
    return caller.call(admissionReview("CREATE", namespace, name, virtualMachine(name, namespace)));
  };
  let next = parseMac("025d1e000000") ?? (0 as Mac);
  create = async () => {
    const startMs = performance.now();
    const since = new Date().toISOString();
    const made = ["a", "b"].map((nic) => {
      const named = { kind: "VirtualMachine" as const, namespace: namespaceOf(next), name: `bare-${next}` };
      const status = pendingStatus(
        [{ ...named, interface: nic, network: "multus br1-net", since }],
        new Date(Date.now() + PENDING_MS).toISOString(),
      );
      const claim = newClaim(next, { pool: "default", origin: "automatic" }, status);
      next = (next + 1) as Mac;
      return client.create(KINDS.claims, claim);
    });
    await Promise.all(made);
    return performance.now() - startMs;
  };
}

async function steadily(call: () => Promise<number>, count: number, perSecond: number): Promise<number[]> {
  const startMs = performance.now();
  const calls: Promise<number>[] = [];
  for (let i = 0; i < count; i++) {
    const waitMs = startMs + (i * 1000) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    calls.push(call());
  }
  return Promise.all(calls);
}

function unprepared(): Promise<number> {
  throw new Error("no order to begin");
}
