import { MAX_NAME_CHARS, MAX_NAMESPACE_CHARS, MAX_NETWORK_CHARS, MAX_UID_CHARS } from "../../api/mac-claim.ts";
import { MAX_INTERFACES } from "./limits.ts";
import { cut, describeObject, type ObjectReference } from "./owner.ts";
import { quote, type Refusal, tooManyInterfaces } from "./refusals.ts";

/**
 * What an object may be called. The API server and KubeVirt look at names after the webhooks, and whoever calls a webhook
 * may write anything: no name that is longer than a claim has room for goes any further.
 */

/** Undefined when the object has names that Kubernetes accepts. */
export function refusalOfObject(ref: ObjectReference): Refusal | undefined {
  const { namespace, name = "", generateName = "", uid = "" } = ref;
  const object = describeObject({ ...ref, namespace: cut(namespace, MAX_NAMESPACE_CHARS) });
  if (namespace.length > MAX_NAMESPACE_CHARS)
    return nameTooLong(`the namespace of ${object}`, namespace.length, MAX_NAMESPACE_CHARS);
  if (name.length > MAX_NAME_CHARS) return nameTooLong(`the name of ${object}`, name.length, MAX_NAME_CHARS);
  if (generateName.length > MAX_NAME_CHARS)
    return nameTooLong(`generateName of ${object}`, generateName.length, MAX_NAME_CHARS);
  return uid.length > MAX_UID_CHARS ? nameTooLong(`the UID of ${object}`, uid.length, MAX_UID_CHARS) : undefined;
}

/** Undefined when a claim for each of the interfaces is possible. */
export function refusalOfInterfaces(
  ref: ObjectReference,
  interfaces: readonly { readonly name: string; readonly network?: string | undefined }[],
): Refusal | undefined {
  if (interfaces.length > MAX_INTERFACES) return tooManyInterfaces(ref, interfaces.length);
  for (const { name, network = "" } of interfaces) {
    const what = `interface ${quote(name)} of ${describeObject(ref)}`;
    if (name.length > MAX_NAME_CHARS) return nameTooLong(`the name of ${what}`, name.length, MAX_NAME_CHARS);
    if (network.length > MAX_NETWORK_CHARS)
      return nameTooLong(`the network of ${what}`, network.length, MAX_NETWORK_CHARS);
  }
  return undefined;
}

/** `what`: whose name or UID it is. */
function nameTooLong(what: string, length: number, most: number): Refusal {
  return {
    code: "MACPOOL_NAME_TOO_LONG",
    message: `${what} has ${length.toLocaleString("en-US")} characters. The maximum is ${most}: choose a shorter one.`,
  };
}
