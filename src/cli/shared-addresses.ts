import { formatMac, type Mac, parseMac } from "../api/mac.ts";
import { WAIT_AS_RECEIVER } from "../api/mac-pool-scope.ts";

/** MAC addresses that several of the objects ask for. A dry run can't find them: it knows what is stored only. */

interface Named {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly object: unknown;
}

interface Interface {
  readonly name?: unknown;
  readonly macAddress?: unknown;
}

interface Guest {
  readonly domain?: { readonly devices?: { readonly interfaces?: unknown } | null } | null;
}

interface Machine {
  readonly spec?:
    | (Guest & { readonly runStrategy?: unknown; readonly template?: { readonly spec?: Guest } | null })
    | null;
}

/** A sentence for each object that asks for an address of one before it. */
export function sharedAddresses<T extends Named>(objects: readonly T[]): Map<T, string[]> {
  const sentences = new Map<T, string[]>();
  const first = new Map<Mac, T>();
  for (const object of objects) {
    for (const { mac, nic } of addressesOf(object.object)) {
      const other = first.get(mac);
      if (other === undefined) first.set(mac, object);
      else if (!isSame(other, object)) {
        const { kind, namespace, name } = other;
        const what = `${nic} asks for ${formatMac(mac)}, as ${kind} ${namespace}/${name} of the input does.`;
        const consequence =
          "The second is refused, unless conflictPolicy or conflictScope of the MACPool allows both. Leave macAddress out to get an address from the pool.";
        sentences.set(object, [...(sentences.get(object) ?? []), `${what} ${consequence}`]);
      }
    }
  }
  return sentences;
}

/** A VM and an instance of its name are one. */
function isSame(one: Named, other: Named): boolean {
  return one.namespace === other.namespace && one.name === other.name && one.name !== "";
}

function addressesOf(object: unknown): { readonly mac: Mac; readonly nic: string }[] {
  const { spec } = object as Machine;
  // It waits to receive a live migration, and may share the address.
  if (spec?.runStrategy === WAIT_AS_RECEIVER) return [];
  const { interfaces } = (spec?.template?.spec ?? spec)?.domain?.devices ?? {};
  return (Array.isArray(interfaces) ? interfaces : []).flatMap((each: Interface | null) => {
    const { macAddress, name } = each ?? {};
    const mac = typeof macAddress === "string" ? parseMac(macAddress) : undefined;
    return mac === undefined
      ? []
      : [{ mac, nic: typeof name === "string" && name !== "" ? `interface ${name}` : "an interface" }];
  });
}
