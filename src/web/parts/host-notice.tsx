import { describeHostConflict, HOST_CONFLICT_ADVICE } from "../../api/host-interfaces.ts";

/** Says of an address that an object has what of a node has it too; nothing where no node has it. */
export function HostNotice({ mac, hostAddress }: { readonly mac: string; readonly hostAddress?: string }) {
  if (hostAddress === undefined) return null;
  return (
    <p role="alert" class="notice bad">
      {describeHostConflict(mac, hostAddress)} {HOST_CONFLICT_ADVICE}
    </p>
  );
}
