import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { releaseFiles } from "../../../deploy/generated-files.ts";
import type { Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { type ComponentImage, componentImages } from "../../../src/operator/config/component-images.ts";
import {
  type ClusterServiceVersion,
  olmObjects,
  ownCsvOptions,
} from "../../../src/operator/olm/cluster-service-version.ts";
import { releaseText } from "../../deploy/support/release-text.ts";

const released = parseAllDocuments(releaseText("release.yaml")).map((document) => document.toJS() as KubeObject);
const bundled: ClusterServiceVersion = parse(
  releaseText("olm/manifests/cluster-network-addons-operator.clusterserviceversion.yaml"),
);
const find = (kind: string): KubeObject | undefined => released.find((object) => object.kind === kind);
const { permissions, clusterPermissions, deployments } = bundled.spec.install.spec;

describe("the bundle for Operator Lifecycle Manager", () => {
  it("installs the Deployment of the release: the same pod, labels and environment, with the images of components in it", () => {
    const workload = find("Deployment") as Deployment;
    const { name, labels } = workload.metadata;
    const env = workload.spec?.template.spec?.containers[0]?.env;
    env?.push(...Object.entries(componentImages()).map(([variable, value]) => ({ name: variable, value })));
    expect(deployments).toEqual([{ name, label: labels, spec: workload.spec }]);
  });

  it("grants the account of that pod the rules of the release, and no others", () => {
    const serviceAccountName = deployments[0]?.spec?.template.spec?.serviceAccountName;
    expect(permissions).toEqual([{ serviceAccountName, rules: find("Role")?.rules }]);
    expect(clusterPermissions).toEqual([{ serviceAccountName, rules: find("ClusterRole")?.rules }]);
    expect(released.filter(({ kind }) => kind === "ClusterRole" || kind === "Role")).toHaveLength(2);
  });

  it("owns the one definition that it brings, which is that of the release", () => {
    const definition = parse(releaseText("olm/manifests/networkaddonsconfigs.crd.yaml"));
    expect(definition).toEqual(find("CustomResourceDefinition"));
    const { owned } = bundled.spec.customresourcedefinitions as { readonly owned: readonly object[] };
    expect(owned).toEqual([
      expect.objectContaining({ name: definition.metadata.name, version: "v1", kind: definition.spec.names.kind }),
    ]);
  });

  it("has an example that may be applied, and the namespace of the release with its Pod Security level", () => {
    const { annotations = {} } = bundled.metadata;
    expect(JSON.parse(annotations["alm-examples"] ?? "")).toMatchObject([
      { kind: "NetworkAddonsConfig", metadata: { name: "cluster" } },
    ]);
    const template = JSON.parse(annotations["operatorframework.io/suggested-namespace-template"] ?? "");
    expect(template).toEqual(find("Namespace"));
    expect(annotations["operatorframework.io/suggested-namespace"]).toBe(template.metadata.name);
  });

  it("is annotated as the format registry+v1 asks", () => {
    const { annotations } = parse(releaseText("olm/metadata/annotations.yaml"));
    expect(annotations).toMatchObject({
      "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
      "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
      "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    });
  });

  it("needs Kubernetes 1.30, and replaces only the version that its owner names", () => {
    expect(bundled.spec).toMatchObject({ minKubeVersion: "1.30.0" });
    expect(bundled.spec).not.toHaveProperty("replaces");
    const files = releaseFiles("registry.test/own:1", { replaces: "0.0.9" });
    const text = files.find(({ path }) => path.endsWith("clusterserviceversion.yaml"))?.text ?? "";
    expect(parse(text).spec.replaces).toBe("cluster-network-addons-operator.0.0.9");
  });
});

describe("a ClusterServiceVersion", () => {
  const own = ownCsvOptions("registry.test/own:1", "addons");

  it("names every image once, and gives the operator those that it deploys", () => {
    const named = { MULTUS_IMAGE: "registry.test/multus:1", OVS_CNI_IMAGE: "registry.test/ovs:2" };
    const { spec } = olmObjects({ ...own, componentImages: named }).clusterServiceVersion;
    const byDefault = (variable: ComponentImage) => componentImages()[variable];
    expect(spec.relatedImages).toEqual([
      { name: "own", image: "registry.test/own:1" },
      { name: "multus", image: "registry.test/multus:1" },
      { name: "multus-dynamic-networks-controller", image: byDefault("MULTUS_DYNAMIC_NETWORKS_CONTROLLER_IMAGE") },
      { name: "ovs", image: "registry.test/ovs:2" },
      { name: "macvtap-cni", image: byDefault("MACVTAP_CNI_IMAGE") },
      { name: "kubesecondarydns", image: byDefault("KUBE_SECONDARY_DNS_IMAGE") },
      { name: "coredns", image: byDefault("CORE_DNS_IMAGE") },
      { name: "ipam-controller", image: byDefault("KUBEVIRT_IPAM_CONTROLLER_IMAGE") },
    ]);
    const env = spec.install.spec.deployments[0]?.spec?.template.spec?.containers[0]?.env ?? [];
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    expect(variables).toMatchObject({
      ...componentImages(named),
      KUBEMACPOOL_IMAGE: "registry.test/own:1",
      WATCH_NAMESPACE: "",
    });
  });

  it("has a version of its own, and the operator reports the one that it is given, to the letter", () => {
    const { clusterServiceVersion } = olmObjects({ ...own, version: "1.18.0", operatorVersion: "v0.102.0+hco" });
    expect(clusterServiceVersion.metadata.name).toBe("cluster-network-addons-operator.1.18.0");
    const [deployment] = clusterServiceVersion.spec.install.spec.deployments;
    expect(deployment?.spec?.template.spec?.containers[0]?.env).toContainEqual({
      name: "OPERATOR_VERSION",
      value: "v0.102.0+hco",
    });
  });
});
