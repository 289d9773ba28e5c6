import { ENFORCE_LABEL, enforceCommand, NODE_ACCESS_LEVEL } from "../../operator/manifests/labels.ts";
import { type CheckLine, note, ok, toDo, unchecked } from "./check-line.ts";
import type { PreflightFacts } from "./preflight-facts.ts";

/** Whether Pod Security of the namespace lets pods use their node. */
export function checkNamespace({ namespace, target }: PreflightFacts): readonly CheckLine[] {
  const what = `the level of Pod Security of namespace ${target}`;
  if ("unknown" in namespace) return [unchecked("namespace", what, namespace.unknown)];
  const { metadata } = namespace.value ?? {};
  if (metadata === undefined) {
    return [ok("namespace", `Namespace ${target} is not there: the package makes it, with the level it needs.`)];
  }
  if (metadata.deletionTimestamp !== undefined) {
    const text = `Namespace ${target} is being deleted: wait until it is gone.`;
    return [toDo("namespace", text, `kubectl wait namespace ${target} --for=delete --timeout=5m`)];
  }
  const level = metadata.labels?.[ENFORCE_LABEL];
  if (level === NODE_ACCESS_LEVEL) return [ok("namespace", `Namespace ${target} enforces the level ${level}.`)];
  const command = enforceCommand(target);
  if (level === undefined) {
    const text = `Namespace ${target} names no level of Pod Security. Where the API server's default refuses pods with access to their node, label it.`;
    return [note("namespace", text, command)];
  }
  const text = `Namespace ${target} enforces the level ${level}, which refuses the pods that serve nodes.`;
  return [toDo("namespace", text, command)];
}
