/** VMs without a node: `VM lab/web waits for a node`, `3 VMs wait for a node, such as lab/web`. Pure. */
export function waitingText(pending: number, [first, ...others]: readonly string[]): string {
  if (pending === 1 && first !== undefined && others.length === 0) return `VM ${first} waits for a node`;
  return `${pending} VMs wait for a node, such as ${first}`;
}
