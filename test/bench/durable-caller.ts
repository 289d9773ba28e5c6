/**
 * Child process of the MAC pool's benchmark: makes calls at a steady rate, whether or not the one before was answered, and tells
 * the milliseconds of each. It is small, so that what it measures is not its own collection of garbage.
 */
import { type Mac, parseMac } from "../../src/api/mac.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { allocated, newClaim } from "../../src/mac-pool/claims/claim.ts";
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
  /** Admissions of VMs that need two addresses, at this rate, and half as many times the two writes alone, in between. */
  | { readonly what: "call"; readonly admissions: number; readonly perSecond: number };

/** In milliseconds. */
export interface DurableSamples {
  readonly admissions: readonly number[];
  readonly creations: readonly number[];
}

let admit: () => Promise<number> = unprepared;
let create: () => Promise<number> = unprepared;

process.on("message", async (order: DurableOrder) => {
  if (order.what === "call") process.send?.(await steadily(order.admissions, order.perSecond));
  else {
    await begin(order.kubeconfig, order.port, order.namespaces);
    process.send?.(null);
  }
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
      const status = allocated([{ ...named, interface: nic, network: "multus br1-net", since }]);
      const claim = newClaim(next, { pool: "default", origin: "automatic" }, status);
      next = (next + 1) as Mac;
      return client.create(KINDS.claims, claim);
    });
    await Promise.all(made);
    return performance.now() - startMs;
  };
}

async function steadily(count: number, perSecond: number): Promise<DurableSamples> {
  const startMs = performance.now();
  const until = async (place: number): Promise<void> => {
    const waitMs = startMs + (place * 1000) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  };
  const admissions: Promise<number>[] = [];
  const creations: Promise<number>[] = [];
  for (let i = 0; i < count; i++) {
    await until(i);
    admissions.push(admit());
    if (i % 2 === 1) continue;
    await until(i + 0.5);
    creations.push(create());
  }
  return { admissions: await Promise.all(admissions), creations: await Promise.all(creations) };
}

function unprepared(): Promise<number> {
  throw new Error("no order to begin");
}
