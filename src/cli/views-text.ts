import {
  type CustomKind,
  MAC_CLAIMS,
  MAC_POOLS,
  NETWORK_ATTACHMENT_DEFINITIONS,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from "../api/kinds.ts";
import { claimName, type Mac, parseMac } from "../api/mac.ts";
import type { OwnerKind } from "../api/mac-claim.ts";
import { objectYaml } from "../kube/client/object-yaml.ts";
import { type CommandLine, UsageError } from "./command-line.ts";

/**
 * Answers for programs: json and yaml as REST has them, or names that kubectl takes as arguments. Undefined for the outputs
 * that are for people.
 */
export function formatViews(
  { command, options }: CommandLine,
  views: object,
  names?: readonly string[],
): string | undefined {
  const { output } = options;
  if (typeof output === "function") return output(views);
  if (output === "json") return `${JSON.stringify(views, null, 2)}\n`;
  if (output === "yaml") return objectYaml(views, { lineWidth: 0 });
  if (output !== "name") return undefined;
  if (names === undefined) throw new UsageError(`${command} has no names: use -o table, json or yaml`);
  return [...new Set(names)].map((name) => `${name}\n`).join("");
}

/** As `formatViews`, of a whole list. */
export function formatList<T>(line: CommandLine, items: readonly T[], nameOf: (item: T) => string): string | undefined {
  return formatViews(line, { items, total: items.length }, items.map(nameOf));
}

/** `macclaim.macpool.network.kubevirt.io/mac-02-...`. */
export function claimNameOf({ mac }: { readonly mac: string }): string {
  return resourceName(MAC_CLAIMS, claimName(parseMac(mac) as Mac));
}

export function poolNameOf({ name }: { readonly name: string }): string {
  return resourceName(MAC_POOLS, name);
}

/** `networkattachmentdefinition.k8s.cni.cncf.io/blue`. */
export function networkNameOf({ name }: { readonly name: string }): string {
  return resourceName(NETWORK_ATTACHMENT_DEFINITIONS, name);
}

/** `virtualmachine.kubevirt.io/web`, `pod/web`. */
export function ownerNameOf({ kind, name }: { readonly kind: OwnerKind; readonly name: string }): string {
  if (kind === "Pod") return `pod/${name}`;
  return resourceName(kind === "VirtualMachine" ? VIRTUAL_MACHINES : VIRTUAL_MACHINE_INSTANCES, name);
}

function resourceName({ kind, group }: CustomKind, name: string): string {
  return `${kind.toLowerCase()}.${group}/${name}`;
}
