import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { NETWORK_ADDONS_CONFIGS } from "../../../src/api/kinds.ts";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/credentials/credentials.ts";
import { validateSpec } from "../../../src/operator/config/validation.ts";
import { NO_FACTS } from "../../../src/operator/watch/facts.ts";
import type { ControlPlaneAccess } from "../../cluster/control-plane/access.ts";
import { releaseText } from "../../deploy/support/release-text.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { WRONG_AFFINITIES } from "./wrong-affinities.ts";
import { WRONG_HERE, WRONG_SPECS } from "./wrong-specs.ts";

const read = (folder: string): CustomResourceDefinition => parse(releaseText(`${folder}/networkaddonsconfigs.yaml`));
const DEFINITION = read("crds");
const DEFINITION_WITHOUT_RULES = read("crds-without-rules");

const intervals = (
  caRotateInterval: string,
  caOverlapInterval: string,
  certRotateInterval: string,
  certOverlapInterval: string,
) => ({ caRotateInterval, caOverlapInterval, certRotateInterval, certOverlapInterval });

const withNameServer = (nameServerIP: string) => ({ kubeSecondaryDNS: { nameServerIP } });

const NODES = {
  matchExpressions: [
    { key: "node-role.kubernetes.io/worker", operator: "Exists" },
    { key: "example.com/cores", operator: "Gt", values: ["8"] },
    { key: "zone", operator: "NotIn", values: ["a", ""] },
  ],
  matchFields: [{ key: "metadata.name", operator: "In", values: ["node-1"] }],
};
const PODS = {
  topologyKey: "kubernetes.io/hostname",
  labelSelector: { matchLabels: { app: "a" }, matchExpressions: [{ key: "b", operator: "DoesNotExist" }] },
  namespaces: ["default"],
  namespaceSelector: {},
  matchLabelKeys: ["pod-template-hash"],
  mismatchLabelKeys: ["c"],
};
const AFFINITY = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [NODES, {}] },
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: NODES }],
  },
  podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [PODS] },
  podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: PODS }] },
};

describe("a wrong spec", () => {
  let controlPlane: ControlPlaneAccess;
  let admin: KubeClient;

  beforeAll(async () => {
    controlPlane = await borrowControlPlane();
    admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    await admin.create(RESOURCES.crds, DEFINITION);
    await eventually("the kind is served", async () => (await answerTo({})) === "taken");
  });
  afterAll(async () => {
    await admin?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  /** What the API server would say. */
  async function answerTo(spec: unknown): Promise<string> {
    const config: KubeObject = { metadata: { name: "cluster" }, spec };
    try {
      await admin.create(NETWORK_ADDONS_CONFIGS, config, { dryRun: true });
      return "taken";
    } catch (error) {
      if (isNotFound(error)) return "not served yet";
      return (error as Error).message;
    }
  }

  it.each(WRONG_SPECS)("is refused by the API server and by the operator in the same words: $what", async (row) => {
    expect(validateSpec(row.spec, NO_FACTS)).toEqual(row.texts);
    const answer = await answerTo(row.spec);
    for (const text of row.atAdmission ?? row.texts) expect(answer).toContain(text);
  });

  it.each([
    // Of OpenShift's documentation: multicast addresses lie between the ends.
    { kubeMacPool: { rangeStart: "AA:00:00:00:00:00", rangeEnd: "FE:A8:11:22:33:44" } },
    { multus: {}, multusDynamicNetworks: { hostCRISocketPath: "/var/run/cri-dockerd.sock" } },
    { multus: {}, multusDynamicNetworks: { hostCRISocketPath: "" } },
    { linuxBridge: { globalNamespaces: [] } },
    { linuxBridge: { markerInclude: ["*", "br-storage-net1", "*br-*storage?net1*"] } },
    { linuxBridge: { bridgeMarkerHealthPort: 1024, installerHealthPort: 0 } },
    { linuxBridge: { globalNamespaces: ["default", "openshift-sriov-network-operator", "0"] } },
    { kubeSecondaryDNS: { domain: "Apps.1.Example-Cluster.com" } },
    { kubeSecondaryDNS: { domain: "local" } },
    { kubeSecondaryDNS: { domain: "1.0x1" } },
    ...["1.1.1.1", "169.254.20.10", "223.255.255.255", "10.0.0.0", "126.0.0.1"].map(withNameServer),
    ...["fd00::1", "2001:db8::", "::1:0:0:1", "ff::1", "fe8::1", "::ffff:10.96.0.53", "64:ff9b::127.0.0.1"].map(
      withNameServer,
    ),
    { macvtap: { devicePluginConfig: "" } },
    { macvtap: { devicePluginConfig: "my.config-1" } },
    { kubevirtIpamController: { defaultNetworkNADNamespace: "" } },
    { kubevirtIpamController: { defaultNetworkNADNamespace: "0-nads" } },
    { placementConfiguration: { infra: { nodeSelector: {} } } },
    { placementConfiguration: { infra: { nodeSelector: { "node-role.kubernetes.io/infra": "", A_b: "1.A-b_c" } } } },
    {
      placementConfiguration: {
        infra: { tolerations: [{ operator: "Exists" }, { key: "example.com/A_b", value: "" }] },
      },
    },
    { selfSignConfiguration: intervals("999999h9999999m999999999s", "999999h", "10000ms", "5s5000ms") },
    { selfSignConfiguration: intervals("99999h".repeat(10), "1h", "1h", "10s") },
    { placementConfiguration: { infra: { affinity: {} } } },
    { placementConfiguration: { workloads: { affinity: AFFINITY } } },
    { tlsSecurityProfile: null },
    ...[{}, { minTLSVersion: "VersionTLS13" }, { ciphers: ["ECDHE-RSA-AES128-GCM-SHA256"] }].map((custom) => ({
      tlsSecurityProfile: { type: "Custom", custom },
    })),
    { tlsSecurityProfile: { type: "Intermediate", custom: null } },
  ])("is not %j", async (spec) => {
    expect(validateSpec(spec, NO_FACTS)).toEqual([]);
    expect(await answerTo(spec)).toBe("taken");
  });

  it.each(WRONG_HERE)("is refused by the operator for what it knows of the cluster: %o %o", (spec, facts, text) => {
    expect(validateSpec(spec, NO_FACTS)).toEqual([]);
    expect(validateSpec(spec, { ...NO_FACTS, ...facts })).toEqual([text]);
  });

  it.each(WRONG_AFFINITIES)("is refused by the operator where its affinity is no affinity: %o", (spec, text) => {
    expect(validateSpec(spec, NO_FACTS)).toEqual([text]);
  });

  it("loses no field of an affinity that is right", async () => {
    const spec = { placementConfiguration: { workloads: { affinity: AFFINITY } } };
    const config = { metadata: { name: "cluster" }, spec };
    expect((await admin.create(NETWORK_ADDONS_CONFIGS, config, { dryRun: true })).spec).toEqual(spec);
  });

  it("is taken by the definition without rules, where its types are right", async () => {
    const [first] = WRONG_SPECS;
    const name = DEFINITION.metadata?.name ?? "";
    const { spec } = DEFINITION_WITHOUT_RULES;
    const { versions } = spec;
    await admin.patch(RESOURCES.crds, { name }, { type: "merge", body: { spec: { versions } } });
    await expect.poll(() => answerTo(first?.spec)).toBe("taken");
    for (const { spec, isMistyped = false } of WRONG_SPECS) {
      expect([spec, (await answerTo(spec)) === "taken"]).toEqual([spec, !isMistyped]);
    }
  });
});
