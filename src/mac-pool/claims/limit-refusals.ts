import { type Refusal, waitOf } from "./refusals.ts";

/** Refusals because a namespace, or all of them, has as many addresses as it may have. */

export function namespaceLimit(
  namespace: string,
  pool: string,
  { has, asked, most }: { readonly has: number; readonly asked: number; readonly most: number },
): Refusal {
  return {
    code: "MACPOOL_NAMESPACE_LIMIT",
    pool,
    message:
      `namespace ${namespace} has ${has} MAC address${has === 1 ? "" : "es"} and asks for ${asked} more, and maxAddressesPerNamespace of MACPool ` +
      `${pool} is ${most}. Delete objects that are no longer needed, or ask an administrator for a higher limit.`,
  };
}

export function overdueLimit(where: string, limit: number, pendingMs: number): Refusal {
  return {
    code: "MACPOOL_PENDING_LIMIT",
    message:
      `${where} has reached the limit of ${limit} MAC addresses for objects that were admitted and never created. ` +
      `Each is free ${waitOf(pendingMs)} after its admission. Find out what refuses those objects after admission: a ` +
      "quota, or another webhook.",
  };
}

export function pendingLimit(namespace: string, limit: number): Refusal {
  return {
    code: "MACPOOL_PENDING_LIMIT",
    message:
      `namespace ${namespace} has reached the limit of ${limit} MAC addresses for objects that are being created at the same ` +
      "time. Try again in some seconds. If no objects are being created, find out who sends the pool reviews of them.",
  };
}
