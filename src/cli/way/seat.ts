import type { Seat } from "../../api/seen-elsewhere.ts";
import type { WayFacts } from "./facts.ts";

/** Where the object runs, since when. Undefined while it migrates, or where the user does not see it. */
export function seatOf({ owner, instance, pod }: WayFacts): Seat | undefined {
  if (owner.kind === "Pod") {
    const { metadata, spec } = ("value" in pod ? pod.value : undefined) ?? {};
    return seat(spec?.nodeName, metadata?.creationTimestamp, undefined);
  }
  const { metadata, status } = (instance !== undefined && "value" in instance ? instance.value : undefined) ?? {};
  const migration = status?.migrationState;
  if (migration !== undefined && migration.endTimestamp === undefined) return undefined;
  return seat(status?.nodeName, metadata?.creationTimestamp, migration?.endTimestamp);
}

function seat(node: string | undefined, made = "", moved = ""): Seat | undefined {
  const sinceMs = Math.max(Date.parse(made) || 0, Date.parse(moved) || 0);
  return node === undefined ? undefined : { node, sinceMs };
}
