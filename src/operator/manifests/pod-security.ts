/** The label by which a namespace says which pods it takes, and the level that pods with access to their node need. Pure. */

export const ENFORCE_LABEL = "pod-security.kubernetes.io/enforce";
export const NODE_ACCESS_LEVEL = "privileged";

/** What to do where the label is missing or says something else. */
export function labelCommand(namespace: string): string {
  return `Run kubectl label namespace ${namespace} --overwrite ${ENFORCE_LABEL}=${NODE_ACCESS_LEVEL}`;
}
