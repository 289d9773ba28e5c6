import { formatMac, type Mac } from "../../api/mac.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import {
  distinctOwnersSeen,
  instanceMacs,
  instanceOwner,
  type ListedMac,
  machineMacs,
  podMacs,
} from "../../mac-pool/objects/listed-macs.ts";
import type { Read } from "../way/facts.ts";
import { bounded, type CheckLine, listed, note, ok, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import type { AddressedObjects } from "./preflight-facts.ts";

/** Addresses that several objects have: read off the objects as the MAC pool does when it adopts them. */

type Owner = ListedMac["owner"];

export interface FoundAddresses {
  /** Each owner once. */
  readonly owners: ReadonlyMap<Mac, readonly Owner[]>;
  /** As `ownerText` names them. */
  readonly running: ReadonlySet<string>;
  /** What of it the user may not read. */
  readonly unknown: readonly CheckLine[];
}

export function addressesOf({ machines, instances, pods }: AddressedObjects): FoundAddresses {
  const [vms, vmis, all] = [knownValue(machines) ?? [], knownValue(instances) ?? [], knownValue(pods) ?? []];
  const instanceAt = new Map(vmis.map((vmi) => [vmi.metadata.uid, vmi]));
  const listing = [
    ...vms.flatMap(machineMacs),
    ...vmis.flatMap(instanceMacs),
    ...all.flatMap((pod) => podMacs(pod, ({ uid }) => instanceAt.get(uid))),
  ];
  const owners = new Map<Mac, Owner[]>();
  for (const { mac, owner } of listing) {
    // A VM that waits to receive a live migration has the address of the one that it receives.
    if (owner.countsAsOwner && owner.receiver !== true) owners.set(mac, [...(owners.get(mac) ?? []), owner]);
  }
  return {
    owners: new Map([...owners].map(([mac, seen]) => [mac, distinctOwnersSeen(seen)])),
    running: new Set([
      ...vmis.filter(isRunning).map((vmi) => ownerText(instanceOwner(vmi))),
      ...all
        .filter(isRunning)
        .map(({ metadata: { namespace = "", name } }) => ownerText({ kind: "Pod", namespace, name })),
    ]),
    unknown: [
      ...unknownOf(machines, "addresses of VMs"),
      ...unknownOf(instances, "addresses of VMIs"),
      ...unknownOf(pods, "addresses of pods"),
    ],
  };
}

export function checkAddresses({ owners, running, unknown }: FoundAddresses): readonly CheckLine[] {
  const shared = [...owners].filter(([, each]) => each.length > 1).sort(([one], [other]) => one - other);
  const none = `No MAC address belongs to several objects; ${owners.size} in use.`;
  if (shared.length === 0) return unknown.length > 0 ? unknown : [ok("addresses", none)];
  const lines = shared.map(([mac, each]) => {
    const names = each.map(ownerText);
    const runs = names.filter((name) => running.has(name)).length;
    const disturb = runs > 1 ? ` ${runs} of them run: they disturb each other where their networks meet.` : "";
    return note(
      "addresses",
      `${formatMac(mac)} belongs to ${listed(names)}.${disturb} All keep it after the installation; change it in all but one.`,
    );
  });
  const more = (count: number): CheckLine => note("addresses", `${count} more addresses belong to several objects.`);
  return [...bounded(lines, more), ...unknown];
}

export function ownerText({ kind, namespace, name }: Pick<Owner, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}

type Objects = readonly KubeObject[];

function isRunning({ status }: KubeObject): boolean {
  return (status as { readonly phase?: string } | undefined)?.phase === "Running";
}

function unknownOf(read: Read<Objects>, what: string): readonly CheckLine[] {
  return "unknown" in read ? [unchecked("addresses", what, read.unknown)] : [];
}
