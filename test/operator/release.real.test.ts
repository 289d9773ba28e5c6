import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIG_CRD } from "../../src/api/crds.ts";
import { apiVersionOf, MAC_CLAIMS, MAC_POOLS, NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { NAD_LINTS } from "../../src/api/nad-lint-setting.ts";
import {
  LABEL_COMPONENT,
  LABEL_PART_OF,
  LABEL_VERSION,
  NETWORK_ADDONS_CONFIG_NAME,
  OPERATOR_NAME,
} from "../../src/api/names.ts";
import { objectYaml } from "../../src/kube/client/object-yaml.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { releaseText } from "../deploy/support/release-text.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const RELEASE = join(deploy, "release.yaml");
const OPERATOR = releaseText("operator.yaml");
const DEPLOYMENT = { name: OPERATOR_NAME, namespace: NAMESPACE };
const DEFINITION = { name: NETWORK_ADDONS_CONFIG_CRD.metadata.name };
const MARKER = { name: "bridge-marker", namespace: NAMESPACE };

/** One story: the tests follow each other on one cluster. */
describe("the release on a real API server", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {}, kubeMacPool: {} });
    await cluster.rollOutUntilAvailable();
    await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(CLAIM));
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  it("is applied over a running one of another version without a conflict", async () => {
    const rendered = await cluster.kubectl(["kustomize", join(deploy, "kustomize/base")]);
    const newer = rendered.stdout.replaceAll(`${LABEL_VERSION}: 0.1.0`, `${LABEL_VERSION}: 0.1.1`);
    expect(newer).not.toBe(rendered.stdout);
    const applied = await cluster.kubectl(["apply", "--server-side", "--dry-run=server", "-f", "-"], newer);
    expect(applied).toMatchObject({ code: 0, stderr: "" });
  });

  it("takes every value of nadLint that a file of kubectl has in quotes", async () => {
    const { spec } = (await cluster.config()) ?? {};
    for (const value of NAD_LINTS) {
      const config = { ...CONFIG, spec: { ...spec, linuxBridge: { nadLint: value } } };
      const applied = await cluster.kubectl(["apply", "--dry-run=server", "-o", "json", "-f", "-"], objectYaml(config));
      expect(applied, applied.stderr).toMatchObject({ code: 0 });
      expect(JSON.parse(applied.stdout)).toMatchObject({ spec: config.spec });
    }
  });

  it("puts no label on its namespace by which suites of existing clusters find what a removal left", async () => {
    const { labels = {} } = (await cluster.admin.get(RESOURCES.namespaces, { name: NAMESPACE })).metadata;
    expect(Object.keys(labels).filter((key) => [LABEL_COMPONENT, LABEL_PART_OF, LABEL_VERSION].includes(key))).toEqual(
      [],
    );
  });

  it("lets its operator be deleted and applied again, while the components stay", async () => {
    const before = await cluster.find(RESOURCES.daemonSets, MARKER);
    expect(await cluster.kubectl(["delete", "-f", "-"], OPERATOR)).toMatchObject({ code: 0 });
    expect(await cluster.isThere(RESOURCES.deployments, DEPLOYMENT)).toBe(false);
    expect((await cluster.find(RESOURCES.daemonSets, MARKER))?.metadata.uid).toBe(before?.metadata.uid);
    expect(await cluster.condition("Available")).toBe("True");
    expect(await cluster.kubectl(["apply", "--server-side", "-f", "-"], OPERATOR)).toMatchObject({ code: 0 });
  });

  it("is not deleted before its configuration: one sentence says what to do", async () => {
    const deleted = await cluster.kubectl(["delete", "--dry-run=server", "-f", RELEASE]);
    expect(deleted.code).toBe(1);
    const refusals = deleted.stderr
      .split("\n")
      .filter((line) => line.includes("A NetworkAddonsConfig exists. Delete it first"));
    expect(refusals.map((line) => /(namespaces|customresourcedefinitions[.\w]*) "([^"]+)"/.exec(line)?.[2])).toEqual([
      NAMESPACE,
      DEFINITION.name,
    ]);
    for (const definition of [MAC_POOLS, MAC_CLAIMS]) {
      const name = `${definition.plural}.${definition.group}`;
      expect((await cluster.kubectl(["delete", "--dry-run=server", "crd", name])).stderr).toContain("Delete it first");
    }
  });

  it("keeps no other namespace from being deleted", async () => {
    await cluster.admin.create(RESOURCES.namespaces, { metadata: { name: "other" } });
    expect(await cluster.kubectl(["delete", "--wait=false", "namespace", "other"])).toMatchObject({ code: 0 });
  });

  it("goes as a whole once the configuration is gone, and leaves the users' data", async () => {
    await cluster.kubectl(["delete", "networkaddonsconfig", "cluster"]);
    expect(await cluster.kubectl(["delete", "--wait=false", "-f", RELEASE])).toMatchObject({ code: 0, stderr: "" });
    await cluster.until(async () => !(await cluster.isThere(RESOURCES.crds, DEFINITION)));
    expect(await cluster.isThere(RESOURCES.deployments, DEPLOYMENT)).toBe(false);
    expect(await cluster.isThere(MAC_CLAIMS, { name: CLAIM.metadata.name })).toBe(true);
    expect(await cluster.isThere(MAC_POOLS, { name: "default" })).toBe(true);
  });
});

const CONFIG = {
  apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS),
  kind: NETWORK_ADDONS_CONFIGS.kind,
  metadata: { name: NETWORK_ADDONS_CONFIG_NAME },
};

const CLAIM = {
  apiVersion: "macpool.network.kubevirt.io/v1alpha1",
  kind: "MACClaim",
  metadata: {
    name: "mac-02-5d-1c-00-00-01",
    annotations: { "macpool.network.kubevirt.io/break-glass": "true" },
  },
  spec: { mac: "02:5d:1c:00:00:01", origin: "explicit" },
};
