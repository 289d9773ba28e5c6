import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIG_CRD } from "../../src/api/crds.ts";
import { MAC_POOLS } from "../../src/api/kinds.ts";
import { OPERATOR_NAME } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import type { CommandResult } from "../cluster/command.ts";
import { InstalledOperator, NAMESPACE } from "../operator/support/installed-operator.ts";
import { CHART, HELM_BUILD_MS, Helm } from "./support/helm.ts";

const deploy = join(CHART, "..");
const DEFINITION = { name: NETWORK_ADDONS_CONFIG_CRD.metadata.name };
const DEPLOYMENT = { name: OPERATOR_NAME, namespace: NAMESPACE };
const POOL = { name: "default" };
const CONFIGURED = ["--set-json", 'networkAddonsConfig={"linuxBridge":{},"kubeMacPool":{}}'];
const OLD_TEXT = "Deployed version.";
const NEW_TEXT = "Version in force.";

interface Release {
  readonly version: number;
  readonly info: { readonly status: string };
}

/** One story: the tests follow each other on one cluster. */
describe("the Helm chart on a real API server", () => {
  let cluster: InstalledOperator;
  let helm: Helm;
  let newer: string;

  beforeAll(async () => {
    cluster = await InstalledOperator.prepare();
    helm = await Helm.open();
    newer = await newerChart(join(helm.directory, "newer"));
  }, HELM_BUILD_MS);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await helm?.[Symbol.asyncDispose]();
  });

  const run = (...args: string[]): Promise<CommandResult> => helm.run(args, cluster.controlPlane.kubeconfig);
  const must = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    if (code !== 0) throw new Error(`helm ${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  const release = async (): Promise<Release> =>
    JSON.parse(await must("status", "addons", "--output", "json")) as Release;
  const definition = async (): Promise<string> => JSON.stringify(await cluster.find(RESOURCES.crds, DEFINITION));

  it("installs the operator, and nothing that nobody asked for", async () => {
    await must("install", "addons", CHART);
    expect((await release()).info.status).toBe("deployed");
    expect(await cluster.isThere(RESOURCES.deployments, DEPLOYMENT)).toBe(true);
    expect(await cluster.config()).toBeUndefined();
    cluster.start();
  });

  it("creates the NetworkAddonsConfig of its values, and the operator has the rights to deploy it", async () => {
    await must("upgrade", "addons", CHART, ...CONFIGURED);
    await cluster.rollOutUntilAvailable();
    expect(await cluster.isThere(MAC_POOLS, POOL)).toBe(true);
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });

  it("upgrades the CRD with the chart, and rolls it back", async () => {
    const config = await cluster.config();
    await must("upgrade", "addons", newer, ...CONFIGURED);
    expect(await definition()).toContain(NEW_TEXT);
    await must("rollback", "addons");
    expect(await definition()).toContain(OLD_TEXT);
    expect(await definition()).not.toContain(NEW_TEXT);
    expect((await cluster.config())?.metadata.uid).toBe(config?.metadata.uid);
    expect((await release()).info.status).toBe("deployed");
  });

  it("keeps the NetworkAddonsConfig when the values have none any more, also after a rollback to such values", async () => {
    await must("upgrade", "addons", CHART);
    await must("rollback", "addons", "1");
    expect((await cluster.config())?.metadata.deletionTimestamp).toBeUndefined();
    expect(await cluster.condition("Available")).toBe("True");
  });

  it("is not uninstalled before its configuration: nothing is deleted, and one sentence says what to do", async () => {
    const refused = await run("uninstall", "addons");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("A NetworkAddonsConfig exists. Delete it first");
    expect(await cluster.isThere(RESOURCES.deployments, DEPLOYMENT)).toBe(true);
  });

  it("goes on after a refused uninstall once it is rolled back to its last revision", async () => {
    expect((await run("upgrade", "addons", CHART)).stderr).toContain("has no deployed releases");
    const { version } = await release();
    await must("rollback", "addons", String(version));
    await must("upgrade", "addons", CHART);
    expect((await release()).info.status).toBe("deployed");
  });

  it("leaves definitions, namespace and data when it is uninstalled", async () => {
    await cluster.kubectl(["delete", "networkaddonsconfig", "cluster"]);
    await must("uninstall", "addons");
    expect(await cluster.isThere(RESOURCES.deployments, DEPLOYMENT)).toBe(false);
    expect(await cluster.isThere(RESOURCES.clusterRoles, { name: OPERATOR_NAME })).toBe(false);
    expect(await cluster.isThere(RESOURCES.namespaces, { name: NAMESPACE })).toBe(true);
    expect(await cluster.isThere(RESOURCES.crds, DEFINITION)).toBe(true);
    expect(await cluster.isThere(MAC_POOLS, POOL)).toBe(true);
  });

  it("is installed again over what it left", async () => {
    const image = "registry.example.com/multus:4";
    await must("install", "addons", CHART, "--set", `componentImages.MULTUS_IMAGE=${image}`);
    const deployment = await cluster.find(RESOURCES.deployments, DEPLOYMENT);
    expect(deployment?.spec?.template.spec?.containers[0]?.env).toContainEqual({ name: "MULTUS_IMAGE", value: image });
    await must("uninstall", "addons");
  });

  it("takes images only for components that there are", async () => {
    const { code, stderr } = await run("template", "addons", CHART, "--set", "componentImages.OTHER_IMAGE=other:1");
    expect(code).toBe(1);
    expect(stderr).toContain("OTHER_IMAGE");
  });

  it("takes over what kubectl applied", async () => {
    expect(await cluster.kubectl(["apply", "--server-side", "-f", join(deploy, "release.yaml")])).toMatchObject({
      code: 0,
    });
    await must("install", "addons", CHART, "--take-ownership", "--force-conflicts");
    await must("uninstall", "addons");
    expect(await cluster.isThere(RESOURCES.deployments, DEPLOYMENT)).toBe(false);
  });

  it("is installed in one step with its configuration where the CRD is there, and finds its data", async () => {
    const pool = await cluster.find(MAC_POOLS, POOL);
    await cluster.kubectl(["delete", "crd", DEFINITION.name]);
    const file = join(deploy, "crds/networkaddonsconfigs.yaml");
    expect(await cluster.kubectl(["apply", "--server-side", "-f", file])).toMatchObject({ code: 0 });
    await must("install", "addons", CHART, "--take-ownership", ...CONFIGURED);
    await cluster.rollOutUntilAvailable();
    expect((await cluster.find(MAC_POOLS, POOL))?.metadata.uid).toBe(pool?.metadata.uid);
  });
});

/** The chart with another version and another text in its CRD. */
async function newerChart(folder: string): Promise<string> {
  await cp(CHART, folder, { recursive: true });
  const replace = async (file: string, from: string, to: string): Promise<void> => {
    const text = await readFile(join(folder, file), "utf8");
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    await writeFile(join(folder, file), text.replaceAll(from, to));
  };
  await replace("Chart.yaml", "0.1.0", "0.1.1");
  await replace("templates/crd.yaml", OLD_TEXT, NEW_TEXT);
  return folder;
}
