import { NAD_GROUP } from "./nad-crd.ts";

/** The account that the multus stand-in acts with, as real multus acts with its own and not with the node's. */

export const MULTUS_USER = "test:multus";
const ROLE = "test-multus";

const rbac = "rbac.authorization.k8s.io";

/** RBAC of the account: read pods and NADs, write network-status, say what went wrong. */
export const multusAccount: readonly object[] = [
  {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRole",
    metadata: { name: ROLE },
    rules: [
      { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
      { apiGroups: [""], resources: ["pods/status"], verbs: ["update", "patch"] },
      { apiGroups: [NAD_GROUP], resources: ["*"], verbs: ["get", "list", "watch"] },
      { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "update"] },
    ],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: ROLE },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: ROLE },
    subjects: [{ apiGroup: rbac, kind: "User", name: MULTUS_USER }],
  },
];
