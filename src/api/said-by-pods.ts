/** How people are told of a pod of which only its own annotations say that it has an address. Pure. */

interface SayingPod {
  /** Its annotation `k8s.v1.cni.cncf.io/networks` names the address. */
  readonly asksForIt?: true;
}

/** Behind a colon. */
export function saidByPod({ asksForIt }: SayingPod): string {
  const before = asksForIt ? "it asks for it in its annotation networks;" : "only";
  return `${before} its annotation network-status says so, and who may write the pod can write that`;
}
