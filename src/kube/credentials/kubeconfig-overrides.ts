import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";

/** What a user says in place of what the kubeconfig has, as with kubectl's options of these names. */
export interface KubeconfigOverrides {
  readonly context?: string | undefined;
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  readonly server?: string | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
}

/** Of a context that only overrides make. */
const GIVEN = "given";

/** Changes the kubeconfig, which messages name `name`. Throws for a cluster or user that it does not have. */
export function override(config: KubeConfig, name: string, overrides: KubeconfigOverrides): void {
  const { context, cluster, user, server, insecureSkipTlsVerify = false } = overrides;
  if (context !== undefined) config.setCurrentContext(context);
  mustHave(name, "cluster", config.clusters, cluster);
  mustHave(name, "user", config.users, user);
  const isGiven = !config.currentContext && cluster !== undefined;
  const former = isGiven ? { name: GIVEN, cluster: "", user: "" } : config.getContextObject(config.currentContext);
  if (former === null) return;
  const current = { ...former, cluster: cluster ?? former.cluster, user: user ?? former.user };
  config.contexts = [current, ...config.contexts.filter((each) => each.name !== current.name)];
  config.setCurrentContext(current.name);
  config.clusters = config.clusters.map((each) => {
    if (each.name !== current.cluster) return each;
    const own = server === undefined ? each : { ...each, server };
    if (!insecureSkipTlsVerify) return own;
    const { caData: _caData, caFile: _caFile, ...rest } = own;
    return { ...rest, skipTLSVerify: true };
  });
}

function mustHave(
  name: string,
  kind: "cluster" | "user",
  known: readonly { readonly name: string }[],
  wanted: string | undefined,
): void {
  if (wanted === undefined || known.some((each) => each.name === wanted)) return;
  const names = known.map((each) => each.name).join(", ") || "none";
  throw new Error(`${name}: ${kind} "${wanted}" is not among its ${kind}s: choose one (${names}).`);
}
