import { saidByPod } from "../../api/said-by-pods.ts";
import type { CheckView } from "../../mac-pool/inspection/rest/views.ts";
import { OwnerLink } from "./owner-link.tsx";

type Beside = Pick<CheckView, "listedBy" | "sayingPods" | "unmanagedInstances">;

/** What has or lists an address beside its owners. */
export function Beside({ listedBy = [], sayingPods = [], unmanagedInstances = [] }: Beside) {
  return (
    <>
      {[...unmanagedInstances, ...sayingPods].map((party) => (
        <p key={`${party.kind}/${party.namespace}/${party.name}`}>
          <OwnerLink owner={party} />
          {party.node && ` on node ${party.node}`} has it too:{" "}
          {party.saidBy ? saidByPod(party) : "the pool does not manage it"}.
        </p>
      ))}
      {listedBy.map((object) => (
        <p key={`${object.kind}/${object.namespace}/${object.name}/${object.interface}`}>
          <OwnerLink owner={object} /> lists it for interface {object.interface}: the pool did not give it, and it keeps
          it from nobody.
        </p>
      ))}
    </>
  );
}
