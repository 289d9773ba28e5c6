import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIG_CRD } from "../../src/api/crds.ts";
import { OPERATOR_NAME } from "../../src/api/names.ts";
import type { Deployment } from "../../src/kube/client/built-in-kinds.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { runsThisOperator } from "../../src/operator/watch/programs.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";
import { formerOperator } from "./support/predecessor.ts";

const RELEASE = join(import.meta.dirname, "../../deploy/release.yaml");
const DEPLOYMENT = { name: OPERATOR_NAME, namespace: NAMESPACE };
const RBAC = "rbac.authorization.k8s.io";

/** The predecessor's own objects: names are those of the release, the rights and selectors are not. */
function formerInstallation(): KubeObject[] {
  const named = { name: OPERATOR_NAME, labels: { name: OPERATOR_NAME } };
  const inNamespace = { ...named, namespace: NAMESPACE };
  const subjects = [{ kind: "ServiceAccount", name: OPERATOR_NAME, namespace: NAMESPACE }];
  const rules = [{ apiGroups: ["apps"], resources: ["daemonsets"], verbs: ["get", "create", "update", "delete"] }];
  const roles = [
    { kind: "ClusterRole", binding: "ClusterRoleBinding", metadata: named },
    { kind: "Role", binding: "RoleBinding", metadata: inNamespace },
  ].flatMap(({ kind, binding, metadata }) => [
    { apiVersion: `${RBAC}/v1`, kind, metadata, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: binding,
      metadata,
      roleRef: { apiGroup: RBAC, kind, name: OPERATOR_NAME },
      subjects,
    },
  ]);
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE, labels: { name: NAMESPACE } } },
    NETWORK_ADDONS_CONFIG_CRD,
    { apiVersion: "v1", kind: "ServiceAccount", metadata: inNamespace },
    ...roles,
    formerOperator(NAMESPACE),
  ];
}

/** One story: the tests follow each other on one cluster. */
describe("where the predecessor's operator is replaced by name", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.prepare();
    const items = formerInstallation();
    const applied = await cluster.kubectl(
      ["apply", "--validate=false", "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items }),
    );
    expect(applied).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const deployment = (): Promise<Deployment | undefined> => cluster.find(RESOURCES.deployments, DEPLOYMENT);
  const install = () => cluster.kubectl(["apply", "--server-side", "--force-conflicts", "-f", RELEASE]);

  it("the release is applied over it, and the Deployment is this operator's then", async () => {
    expect(runsThisOperator((await deployment())?.spec?.template.spec)).toBe(false);
    expect(await install()).toMatchObject({ code: 0 });
    expect(runsThisOperator((await deployment())?.spec?.template.spec)).toBe(true);
  });

  it("nothing of the former operator is left when its Deployment was deleted first", async () => {
    expect(await cluster.kubectl(["-n", NAMESPACE, "delete", "deployment", OPERATOR_NAME])).toMatchObject({ code: 0 });
    expect(await install()).toMatchObject({ code: 0 });
    const { template, strategy } = (await deployment())?.spec ?? {};
    expect(template?.spec?.containers.map(({ name }) => name)).toEqual([OPERATOR_NAME]);
    expect(strategy?.type).toBe("RollingUpdate");
    const role = await cluster.find(RESOURCES.roles, DEPLOYMENT);
    expect(JSON.stringify(role?.rules)).toContain('"resourceNames":["bridge-marker"');
  });

  it("the new operator is in charge at once", async () => {
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {} });
    await cluster.rollOutUntilAvailable();
    expect((await cluster.config())?.status?.conditions?.map(({ type }) => type)).not.toContain("StandingBack");
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
