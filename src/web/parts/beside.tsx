import type { CheckView } from "../../mac-pool/inspection/rest/views.ts";
import { OwnerLink } from "./owner-link.tsx";

type Beside = Pick<CheckView, "listedBy" | "sayingPods" | "unmanagedInstances">;

/** What has or lists an address beside its owners. */
export function Beside({ listedBy = [], sayingPods = [], unmanagedInstances = [] }: Beside) {
  return (
    <>
      {unmanagedInstances.map((vmi) => (
        <p key={`${vmi.namespace}/${vmi.name}`}>
          <OwnerLink owner={vmi} />
          {vmi.node !== undefined && ` on node ${vmi.node}`} has it too: the pool does not manage it.
        </p>
      ))}
      {sayingPods.map((pod) => (
        <p key={`${pod.namespace}/${pod.name}`}>
          <OwnerLink owner={pod} />
          {pod.node !== undefined && ` on node ${pod.node}`} has it too: only its annotation {pod.saidBy} says so, and
          who may write the pod can write that.
        </p>
      ))}
      {listedBy.map((object) => (
        <p key={`${object.kind}/${object.namespace}/${object.name}/${object.interface}`}>
          <OwnerLink owner={object} /> lists it for interface {object.interface}: the pool did not give it, and nobody
          is refused the address because of that.
        </p>
      ))}
    </>
  );
}
