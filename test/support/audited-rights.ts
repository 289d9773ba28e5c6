/** Which rights of an account are used, by the API server's audit log. */

import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { PathRule, Rule } from "../../src/operator/manifests/rbac.ts";
import { type AuditEvent, AuditLog } from "./audit-log.ts";

/** Rules that RBAC gives an account, in the whole cluster or in one namespace. */
export interface Granted {
  readonly account: string;
  readonly namespace?: string | undefined;
  readonly rules: readonly (Rule | PathRule)[];
}

/** One request, as RBAC sees it. */
export interface Asked {
  readonly account: string;
  /** More than one where an update or a patch creates. */
  readonly verbs: readonly string[];
  readonly group: string;
  /** With its subresource. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly status: number;
}

const FORBIDDEN = 403;
const CREATED = 201;

/** Of service accounts in a namespace. */
export const auditAccounts = (directory: string, namespace: string, accounts: readonly string[]): Promise<AuditLog> =>
  AuditLog.in(directory, { users: accounts.map((account) => `system:serviceaccount:${namespace}:${account}`) });

export function askedIn({ verb, user, objectRef = {}, responseStatus }: AuditEvent): Asked {
  const { resource = "", subresource, apiGroup = "", namespace, name } = objectRef;
  const status = responseStatus?.code ?? 0;
  const creates = status === CREATED && verb !== "create";
  return {
    account: user.username.split(":").at(-1) ?? "",
    verbs: creates ? [verb, "create"] : [verb],
    group: apiGroup,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    status,
  };
}

/** `account: verb resource.group name` of every request that was refused for want of a right or by a policy. */
export function refused(asked: readonly Asked[]): string[] {
  const found = asked.filter(({ status }) => status === FORBIDDEN);
  return distinct(found.map((one) => `${one.account}: ${one.verbs[0]} ${titleOf(one)} ${one.name ?? ""}`.trim()));
}

/** Whether each cell of the rules was used: `account: verb resource.group`, and `account: resource.group name`. */
export function cells(granted: readonly Granted[], asked: readonly Asked[]): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>();
  const note = (cell: string, used: boolean): unknown => found.set(cell, used || (found.get(cell) ?? false));
  for (const { account, namespace, rules } of granted) {
    const own = asked.filter((one) => one.account === account && one.status !== FORBIDDEN);
    for (const { apiGroups, resources, resourceNames, verbs } of rules.filter((rule) => "resources" in rule)) {
      for (const [group, resource] of apiGroups.flatMap((one) => resources.map((other) => [one, other] as const))) {
        const meant = own.filter(
          (one) =>
            one.group === group &&
            one.resource === resource &&
            (namespace === undefined || one.namespace === namespace) &&
            (resourceNames === undefined || resourceNames.includes(one.name ?? "")),
        );
        const title = `${account}: `;
        for (const verb of verbs) {
          const used = meant.some((one) => one.verbs.includes(verb));
          note(`${title}${verb} ${titleOf({ group, resource })}`, used);
        }
        for (const name of resourceNames ?? []) {
          const used = meant.some((one) => one.name === name);
          note(`${title}${titleOf({ group, resource })} ${name}`, used);
        }
      }
    }
  }
  return found;
}

/** What bindings among the objects give to service accounts. */
export function grantedBy(objects: readonly KubeObject[]): Granted[] {
  return objects
    .filter(({ kind }) => kind === "ClusterRoleBinding" || kind === "RoleBinding")
    .flatMap(({ metadata: { namespace }, roleRef, subjects }) => {
      const { kind, name } = roleRef as { readonly kind: string; readonly name: string };
      const role = objects.find(
        (one) => one.kind === kind && one.metadata.name === name && one.metadata.namespace === namespace,
      );
      const rules = (role?.rules ?? []) as Granted["rules"];
      return (subjects as readonly { readonly name: string }[]).map((subject) => ({
        account: subject.name,
        namespace,
        rules,
      }));
    });
}

const titleOf = ({ group, resource }: Pick<Asked, "group" | "resource">): string =>
  group === "" ? resource : `${resource}.${group}`;

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].sort();
