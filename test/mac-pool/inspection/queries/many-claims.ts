import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import { conflict } from "../../../../src/mac-pool/claims/refusals.ts";
import type { DenialLog } from "../../../../src/mac-pool/inspection/queries/denials.ts";
import { Random } from "../../../support/random.ts";
import { claimOf, FIRST, type InspectionFixtureOptions, instanceOf, owner, vmOf } from "../inspection-fixture.ts";

/** A cluster with many VMs of two interfaces, in a hundred namespaces; the same for the same number of claims. */

const NAMESPACES = 100;
const NICS = 2;
const SIZE = 2 ** 24;
const COLLISIONS = 12;
/** As many as a replica remembers. */
const DENIALS = 1_000;

const nameOf = (vm: number): [string, string] => [`tenant-${vm % NAMESPACES}`, `vm-${vm}`];

/** The addresses, in order. */
export function manyMacs(count: number): Mac[] {
  const random = new Random(1);
  const offsets = new Set<number>();
  while (offsets.size < count) offsets.add(random.below(SIZE));
  return [...offsets].sort((one, other) => one - other).map((offset) => (FIRST + offset) as Mac);
}

/** `COLLISIONS` of the VMs run, each beside a VMI with the same addresses. */
export function manyClaims(macs: readonly Mac[]): InspectionFixtureOptions {
  const namespaces = Object.fromEntries(Array.from({ length: NAMESPACES }, (_, at) => [`tenant-${at}`, {}]));
  const macsOf = (vm: number): readonly Mac[] => macs.slice(vm * NICS, (vm + 1) * NICS);
  const machines = Array.from({ length: macs.length / NICS }, (_, vm) => vmOf(...nameOf(vm), macsOf(vm)));
  const instances = machines.slice(0, COLLISIONS).flatMap((vm, at) => {
    const { metadata, ...twin } = instanceOf(vm, "node-b");
    const name = `${metadata.name}-twin`;
    const own = { name, namespace: metadata.namespace ?? "", uid: `vmi-${at}-twin` };
    return [instanceOf(vm, "node-a"), { ...twin, metadata: own }];
  });
  const claims = macs.map((mac, at) => {
    const nic = at % NICS === 0 ? "a" : "b";
    return claimOf(mac, [owner(...nameOf(Math.floor(at / NICS)), { network: "multus br1-net", interface: nic })]);
  });
  const range = { start: formatMac(FIRST), end: formatMac((FIRST + SIZE - 1) as Mac) };
  return { pools: { default: { ranges: [range] } }, namespaces, machines, instances, claims };
}

/** VMs that asked for an address that another one has, until the log is full. */
export function refuseMany(log: DenialLog, macs: readonly Mac[]): void {
  for (let at = 0; at < DENIALS; at++) {
    const mac = macs[at % macs.length] ?? FIRST;
    const holder = owner(...nameOf(Math.floor(at / NICS)));
    const refusal = conflict(mac, "a", [holder], {
      field: "macAddress",
      pendingMs: 120_000,
      isAwaited: false,
      objectsListing: [],
    });
    const [namespace, name] = [`tenant-${at % NAMESPACES}`, `copy-${at}`];
    const request = { namespace, name, operation: "CREATE", dryRun: false, object: {}, oldObject: null };
    log.add("VirtualMachine", request as unknown as Parameters<DenialLog["add"]>[1], refusal);
  }
}
