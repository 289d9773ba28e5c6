import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersionOf } from "../../src/api/kinds.ts";
import type { NetworkAddonsConfig, NetworkAddonsConfigSpec } from "../../src/api/network-addons-config.ts";
import { type ObjectRef, RESOURCES } from "../../src/kube/client/resource.ts";
import { componentImages } from "../../src/operator/config/component-images.ts";
import { CERT_MANAGER_CRDS } from "./support/external-kinds.ts";
import { CONFIGS, type InstalledOperator } from "./support/installed-operator.ts";
import {
  installMerged,
  HCO_NAMESPACE as namespace,
  prepareMerged,
  runCsvGenerator,
  splitManifests,
} from "./support/merged-operator.ts";

const OBSERVED = "v0.102.0-3.hco+main";
const NEXT = "v0.103.0";

/** The flags of the HyperConverged operator's build. */
const flags = (version: string, tag: string): string[] => [
  `--namespace=${namespace}`,
  "--version=1.18.0",
  "--version-replaces=1.17.0",
  "--image-pull-policy=IfNotPresent",
  `--operator-version=${version}`,
  `--container-tag=${tag}`,
  "--container-prefix=registry.example.com/team",
  "--image-name=addons",
  "--kube-rbac-proxy-image=registry.example.com/proxy:1",
  "--dump-crds",
];

const LABELS = {
  app: "kubevirt-hyperconverged",
  "app.kubernetes.io/managed-by": "hco-operator",
  "app.kubernetes.io/version": "1.18.0",
  "app.kubernetes.io/part-of": "hyperconverged-cluster",
  "app.kubernetes.io/component": "network",
};

const SPEC: NetworkAddonsConfigSpec = {
  multus: {},
  linuxBridge: {},
  kubeMacPool: {},
  kubevirtIpamController: { defaultNetworkNADNamespace: "openshift-ovn-kubernetes" },
  kubeSecondaryDNS: { domain: "", nameServerIP: "" },
  selfSignConfiguration: {
    caRotateInterval: "48h0m0s",
    caOverlapInterval: "24h0m0s",
    certRotateInterval: "24h0m0s",
    certOverlapInterval: "12h0m0s",
  },
  tlsSecurityProfile: { type: "Intermediate", intermediate: {} },
};

const MANAGER = { name: "kubemacpool-mac-controller-manager", namespace };
const CERTS = { name: "kubemacpool-cert-manager", namespace };
const MARKER = { name: "bridge-marker", namespace };
const OVS = { name: "ovs-cni-amd64", namespace };
const IPAM = { name: "kubevirt-ipam-controller-manager", namespace };
const RANGE_MAP = { name: "kubemacpool-mac-range-config", namespace };

describe("what csv-generator prints", () => {
  it("is a ClusterServiceVersion and the definition after it, each with an image line where one is looked for", async () => {
    const manifests = splitManifests(await runCsvGenerator(flags(OBSERVED, "1")));
    expect([...manifests.keys()]).toEqual(["ClusterServiceVersion", "CustomResourceDefinition"]);
    const csv = manifests.get("ClusterServiceVersion")?.text.split("\n") ?? [];
    expect(csv.filter((line) => /^ *image: [_a-zA-Z0-9/.:@-]+$/.test(line)).length).toBeGreaterThan(1);
    const alone = splitManifests(await runCsvGenerator(flags(OBSERVED, "1").slice(0, -1)));
    expect([...alone.keys()]).toEqual(["ClusterServiceVersion"]);
  });

  it("is one sentence where a flag is wrong", async () => {
    const wrong = runCsvGenerator(["--image-pull-policy=Now"]);
    await expect(wrong).rejects.toThrow(
      'exit code 1: csv-generator: --image-pull-policy has to be one of Always, Never, IfNotPresent, found "Now"',
    );
  });
});

/** One story: the tests follow each other on one cluster. */
describe("under the HyperConverged operator", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await prepareMerged();
    for (const definition of CERT_MANAGER_CRDS) await cluster.admin.create(RESOURCES.crds, definition);
    await installMerged(cluster, await runCsvGenerator(flags(OBSERVED, "1")));
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const conditions = async () => {
    const found = (await cluster.config())?.status?.conditions ?? [];
    return Object.fromEntries(found.map(({ type, status }) => [type, status]));
  };
  /** Replaces the whole object, as a client that has read it. A conflict is thrown: the operator writes to it too. */
  async function update(part: object, dryRun = false): Promise<NetworkAddonsConfig> {
    const live = await cluster.admin.get(CONFIGS, { name: "cluster" });
    return cluster.admin.update(CONFIGS, { ...live, spec: { ...live.spec, ...part } }, { dryRun });
  }
  /** Tries again when the operator was faster. */
  async function change(part: object): Promise<void> {
    await expect.poll(() => update(part)).toBeDefined();
  }
  async function availableStatus(): Promise<NetworkAddonsConfig["status"]> {
    await cluster.rollOutUntilAvailable();
    return (await cluster.config())?.status;
  }

  it("is created with its labels and fields, and reports the version that it was given only when it is available", async () => {
    const config = {
      apiVersion: apiVersionOf(CONFIGS),
      kind: CONFIGS.kind,
      metadata: { name: "cluster", labels: LABELS },
      spec: SPEC,
    };
    await expect.poll(() => cluster.admin.create(CONFIGS, config, { fieldValidation: "Strict" })).toBeDefined();
    await expect.poll(conditions).toEqual({ Available: "False", Progressing: "True", Degraded: "False" });
    const started = (await cluster.config())?.status;
    expect(started).toMatchObject({ operatorVersion: OBSERVED, targetVersion: OBSERVED });
    expect(started).not.toHaveProperty("observedVersion");
    expect(await availableStatus()).toMatchObject({ observedVersion: OBSERVED });
    expect(await conditions()).toEqual({ Available: "True", Progressing: "False", Degraded: "False" });
  });

  it("is refused the rights that it only hands on, although no bundle brings the policy", async () => {
    await cluster.admin.create(RESOURCES.nodes, { metadata: { name: "fenced" } });
    const patch = { type: "merge" as const, body: { status: { capacity: { "example.com/any": "1" } } } };
    const write = () =>
      cluster.client.patch(RESOURCES.nodes, { name: "fenced" }, patch, { subresource: "status" }).then(
        () => "taken",
        (error: Error) => error.message,
      );
    await expect.poll(write).toContain("cluster-network-addons-operator-rights' denied request: The operator has this");
    await cluster.admin.delete(RESOURCES.nodes, { name: "fenced" });
  });

  it("keeps the spec and the labels that were written, and hands the labels on", async () => {
    const config = await cluster.config();
    expect(config?.spec).toEqual(SPEC);
    expect(config?.metadata.labels).toEqual(LABELS);
    const { "app.kubernetes.io/managed-by": _, app: __, ...handedOn } = LABELS;
    const manager = await cluster.find(RESOURCES.deployments, MANAGER);
    expect(manager?.metadata.labels).toMatchObject({ ...handedOn, "app.kubernetes.io/managed-by": "cnao-operator" });
    expect(manager?.spec?.template.metadata?.labels).toMatchObject(handedOn);
  });

  it("answers dry-run updates, and changes nothing", async () => {
    const before = await cluster.config();
    const taken = await update({ ovs: {} }, true);
    expect(taken.spec).toMatchObject({ ovs: {} });
    await expect(update({ kubeMacPool: { rangeStart: "02:00:00:00:00:00" } }, true)).rejects.toThrow(
      "both or none of the KubeMacPool ranges needs to be configured",
    );
    expect((await cluster.config())?.metadata.generation).toBe(before?.metadata.generation);
  });

  const SPREAD = {
    weight: 1,
    podAffinityTerm: { labelSelector: { matchLabels: { app: "kubemacpool" } }, topologyKey: "kubernetes.io/hostname" },
  };
  const infra = {
    nodeSelector: { infra: "yes" },
    affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [SPREAD] } },
    tolerations: [{ key: "infra", operator: "Exists", effect: "NoSchedule" }],
  };
  const workloads = { nodeSelector: { workload: "yes" }, tolerations: [{ operator: "Exists" }] };
  const range = { rangeStart: "02:5D:1C:00:00:00", rangeEnd: "02-5d-1c-ff-ff-ff" };
  const lifetimes = {
    caRotateInterval: "168h0m0s",
    caOverlapInterval: "24h0m0s",
    certRotateInterval: "24h0m0s",
    certOverlapInterval: "24h0m0s",
  };
  const podOfDeployment = async (ref: ObjectRef) =>
    (await cluster.find(RESOURCES.deployments, ref))?.spec?.template.spec;

  it.each<[string, NetworkAddonsConfigSpec, () => Promise<unknown>, unknown]>([
    [
      "placement of Deployments",
      { placementConfiguration: { infra, workloads } },
      () => podOfDeployment(MANAGER),
      { ...infra, tolerations: expect.arrayContaining(infra.tolerations) },
    ],
    [
      "placement of DaemonSets",
      { placementConfiguration: { workloads } },
      async () => (await cluster.find(RESOURCES.daemonSets, MARKER))?.spec?.template.spec,
      workloads,
    ],
    [
      "a range of addresses",
      { kubeMacPool: range },
      async () => (await cluster.find(RESOURCES.configMaps, RANGE_MAP))?.data,
      { RANGE_START: range.rangeStart, RANGE_END: range.rangeEnd },
    ],
    [
      "lifetimes of certificates",
      { selfSignConfiguration: lifetimes },
      async () => (await podOfDeployment(CERTS))?.containers[0]?.env,
      expect.arrayContaining([{ name: "CA_ROTATE_INTERVAL", value: "168h0m0s" }]),
    ],
    ["Open vSwitch", { ovs: {} }, async () => (await cluster.find(RESOURCES.daemonSets, OVS))?.metadata, OVS],
    [
      "the domain of secondary DNS",
      { kubeSecondaryDNS: { domain: "example.com", nameServerIP: "10.96.0.53" } },
      async () =>
        JSON.stringify((await cluster.find(RESOURCES.configMaps, { name: "secondary-dns", namespace }))?.data),
      expect.stringContaining("example.com"),
    ],
    [
      "the namespace of the default network",
      { kubevirtIpamController: { defaultNetworkNADNamespace: "somewhere" } },
      async () => JSON.stringify(await podOfDeployment(IPAM)),
      expect.stringContaining("somewhere"),
    ],
    ["the TLS profile", { tlsSecurityProfile: { type: "Modern", modern: {} } }, async () => ({}), {}],
  ])("follows a change of %s and is available again", async (_what, part, effect, expected) => {
    await change(part);
    await availableStatus();
    const found = await effect();
    if (typeof found === "string" || Array.isArray(found)) expect(found).toEqual(expected);
    else expect(found).toMatchObject(expected as object);
    expect((await cluster.config())?.spec).toMatchObject(part);
  });

  it("takes a component off again when its key goes", async () => {
    await change({ ovs: undefined });
    await expect.poll(() => cluster.find(RESOURCES.daemonSets, OVS)).toBeUndefined();
    await availableStatus();
  });

  it("deploys every other component, too, from the image that it knows, and says which one", async () => {
    await change({ multusDynamicNetworks: {} });
    const container = { parentName: "dynamic-networks-controller-ds", name: "dynamic-networks-controller" };
    const image = componentImages().MULTUS_DYNAMIC_NETWORKS_CONTROLLER_IMAGE;
    await expect
      .poll(async () => (await cluster.config())?.status?.containers)
      .toContainEqual(expect.objectContaining({ ...container, image }));
    await availableStatus();
    await change({ multusDynamicNetworks: undefined });
    await availableStatus();
  });

  it("is upgraded by another version: it observes that version when everything runs in it", async () => {
    await installMerged(cluster, await runCsvGenerator(flags(NEXT, "2")));
    await expect.poll(async () => (await cluster.config())?.status).toMatchObject({ targetVersion: NEXT });
    await expect.poll(conditions).toMatchObject({ Available: "False", Progressing: "True" });
    expect((await cluster.config())?.status).toMatchObject({ operatorVersion: NEXT, observedVersion: OBSERVED });
    const status = await availableStatus();
    expect(status).toMatchObject({ observedVersion: NEXT });
    expect(status?.containers).toContainEqual(expect.objectContaining({ image: "registry.example.com/team/addons:2" }));
  });

  it("is deleted with all that it deployed", async () => {
    await cluster.admin.delete(CONFIGS, { name: "cluster" });
    await expect.poll(() => cluster.config()).toBeUndefined();
    expect(await cluster.find(RESOURCES.deployments, MANAGER)).toBeUndefined();
    expect(await cluster.find(RESOURCES.daemonSets, MARKER)).toBeUndefined();
  });

  it("was never refused anything, in a namespace that is not its own", () => {
    expect(cluster.warnings.filter((warning) => warning.includes("orbidden"))).toEqual([]);
  });
});
