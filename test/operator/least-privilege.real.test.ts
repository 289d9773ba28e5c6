import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LABEL_COMPONENT, LINUX_BRIDGE_CERT_MANAGER, OPERATOR_NAME } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { appliedKind } from "../../src/operator/apply/applied-kinds.ts";
import { COMPONENTS, PREREQUISITE_DEFINITIONS, renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { operatorAccess } from "../../src/operator/manifests/operator-access.ts";
import type { Rule } from "../../src/operator/manifests/rbac.ts";
import { startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import type { AuditLog } from "../support/audit-log.ts";
import { type Asked, askedIn, auditAccounts, cells, refused } from "../support/audited-rights.ts";
import { CERT_MANAGER_CRDS, NETWORKS_CRD } from "./support/external-kinds.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const EVERYTHING = renderEverything(DEFAULT_SETTINGS);
const ALL = Object.fromEntries(COMPONENTS.filter(({ standing }) => !standing).map(({ name }) => [name, {}]));
/** Asks for the right to update the finalizers of an owner, as OpenShift does. */
const OWNERS_ARE_GUARDED = "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement";
/** Rights that this test cannot see in use, with what fails without them. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "update networkaddonsconfigs/finalizers.networkaddonsoperator.network.kubevirt.io":
    "admission asks for it, not a request: without it, every object with an owner is refused here",
  "networkaddonsconfigs/finalizers.networkaddonsoperator.network.kubevirt.io cluster": "the same",
  "get networkaddonsconfigs.networkaddonsoperator.network.kubevirt.io":
    "admission asks for it, not a request: without it, the guard of the removal is refused here",
  "get networks.operator.openshift.io": "asked while the watch cannot begin: test/operator/honest-status.real.test.ts",
  "get configmaps": "read where a predecessor ran: test/operator/takeover.real.test.ts",
  "configmaps kubemacpool-mac-range-config": "the same",
  "list events.events.k8s.io": "read when a pod cannot start: test/cluster/honest-status.test.ts",
};

/** What an earlier build left is removed in test/operator/certificates.real.test.ts. */
const isFormer = (cell: string): boolean => cell.includes(` ${LINUX_BRIDGE_CERT_MANAGER}`);

/** One story: the tests follow each other on one cluster. */
describe("the rights of the operator", () => {
  let cluster: InstalledOperator;
  let directory: string;
  let audit: AuditLog;
  const asked: Asked[] = [];

  beforeAll(async () => {
    directory = await makeRunDirectory();
    audit = await auditAccounts(directory, NAMESPACE, [OPERATOR_NAME]);
    const apiServerArguments = [...audit.apiServerArguments, OWNERS_ARE_GUARDED];
    cluster = await InstalledOperator.install({ controlPlane: await startControlPlane({ apiServerArguments }) });
    for (const crd of CERT_MANAGER_CRDS) await cluster.admin.create(RESOURCES.crds, crd);
    for (const name of ["node-a", "node-b"]) {
      await cluster.addNode(name);
      const nodeInfo = { containerRuntimeVersion: "containerd://2.2.2", kubeletVersion: "v1.36.3" };
      const body = { status: { nodeInfo } };
      await cluster.admin.patch(RESOURCES.nodes, { name }, { type: "merge", body }, { subresource: "status" });
    }
    cluster.start(DEFAULT_SETTINGS);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  const refOf = ({ metadata: { name = "", namespace } }: KubeObject) => ({ name, namespace });

  it("suffice to deploy every component, to repair each object and to remove everything", async () => {
    expect(await cluster.applyConfig(ALL)).toMatchObject({ code: 0, stderr: "" });
    await cluster.rollOutUntilAvailable();
    await cluster.admin.create(RESOURCES.crds, NETWORKS_CRD);
    const body = { metadata: { labels: { [LABEL_COMPONENT]: "theirs" } } };
    for (const object of EVERYTHING) {
      await cluster.admin.patch(appliedKind(object).resource, refOf(object), { type: "merge", body });
    }
    for (const object of EVERYTHING) {
      const label = async () =>
        (await cluster.find(appliedKind(object).resource, refOf(object)))?.metadata.labels?.[LABEL_COMPONENT];
      await expect.poll(label, { message: `${object.kind} ${object.metadata.name}` }).toBe("network");
    }
    const isWatched = (one: Asked): boolean => one.resource === "networks" && one.verbs.includes("watch");
    const readOn = async () => asked.push(...(await audit.next()).map(askedIn));
    await expect.poll(async () => (await readOn()) > 0 && asked.some(isWatched)).toBe(true);
    expect(await cluster.kubectl(["delete", "networkaddonsconfig", "cluster"])).toMatchObject({ code: 0 });
    await cluster.stop();
    await readOn();
    expect(asked.length).toBeGreaterThan(EVERYTHING.length);
    expect(refused(asked)).toEqual([]);
  });

  it("are used, each of them, or handed on to a component", () => {
    const access = operatorAccess(EVERYTHING, PREREQUISITE_DEFINITIONS);
    const handedOn = new Set(
      EVERYTHING.flatMap(({ rules }) => (rules as readonly Rule[] | undefined) ?? []).map(textOf),
    );
    const own = (rules: readonly object[]) => rules.filter((rule) => !handedOn.has(textOf(rule))) as Rule[];
    const granted = [
      { account: OPERATOR_NAME, rules: own(access.cluster) },
      { account: OPERATOR_NAME, namespace: NAMESPACE, rules: own(access.namespaced) },
    ];
    const found = [...cells(granted, asked)].map(([cell, used]) => [cell.replace(`${OPERATOR_NAME}: `, ""), used]);
    expect(found.length).toBeGreaterThan(100);
    const unused = found.filter(([, used]) => !used).map(([cell]) => String(cell));
    expect(unused.filter((cell) => !(cell in ELSEWHERE || isFormer(cell)))).toEqual([]);
  });
});

const textOf = (rule: object): string => JSON.stringify(rule);
