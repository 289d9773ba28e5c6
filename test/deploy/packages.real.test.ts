import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { DEFAULT_IMAGE, IMAGE_REPOSITORY } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../../src/api/names.ts";
import type { Deployment } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { mustRun } from "../cluster/command.ts";
import { ensureBinaries } from "../cluster/control-plane/binaries.ts";
import { CHART, HELM_BUILD_MS, Helm } from "./support/helm.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const KEEP = "helm.sh/resource-policy";
const CHECK = "ConfigMap cluster-network-addons-removal";

const read = (text: string, version: "1.1" | "1.2"): KubeObject[] =>
  parseAllDocuments(text, { version }).flatMap((document) => (document.toJS() as KubeObject | null) ?? []);
/** Reads it as kubectl does. */
const parse = (text: string): KubeObject[] => {
  const objects = read(text, "1.1");
  expect(objects, "YAML that means the same in its version 1.2").toEqual(read(text, "1.2"));
  return objects;
};
const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;
const byName = (objects: readonly KubeObject[]): Record<string, KubeObject> =>
  Object.fromEntries(objects.map((object) => [nameOf(object), object]));
const released = parse(readFileSync(join(deploy, "release.yaml"), "utf8"));

describe("the packages", () => {
  let helm: Helm;
  let kubectl: string;

  beforeAll(async () => {
    helm = await Helm.open();
    kubectl = (await ensureBinaries()).kubectl;
  }, HELM_BUILD_MS);
  afterAll(async () => {
    await helm?.[Symbol.asyncDispose]();
  });

  const kustomized = async (folder: string): Promise<KubeObject[]> =>
    parse(await mustRun([kubectl, "kustomize", join(deploy, "kustomize", folder)]));
  const template = (...args: string[]) => helm.run(["template", "addons", CHART, ...args]);
  const templated = async (...args: string[]): Promise<KubeObject[]> => {
    const { code, stdout, stderr } = await template(...args);
    if (code !== 0) throw new Error(stderr);
    return parse(stdout);
  };
  const operatorOf = (objects: readonly KubeObject[]): Deployment =>
    objects.find((object) => nameOf(object) === `Deployment ${OPERATOR_NAME}`) as Deployment;

  it("apply the same objects with kustomize as with kubectl", async () => {
    expect(byName(await kustomized("base"))).toEqual(byName(released));
  });

  it("apply the same objects with Helm but for what uninstalling needs", async () => {
    const { [CHECK]: check, ...objects } = byName(await templated());
    expect(check?.metadata.annotations).toMatchObject({ "helm.sh/hook": "pre-delete" });
    const kept = Object.values(objects).filter(({ metadata }) => metadata.annotations !== undefined);
    expect(kept.map(({ kind, metadata }) => [kind, metadata.annotations])).toEqual([
      ["Namespace", { [KEEP]: "keep" }],
      ["CustomResourceDefinition", { [KEEP]: "keep" }],
    ]);
    for (const { metadata } of kept) delete (metadata as { annotations?: object }).annotations;
    expect(objects).toEqual(byName(released));
  });

  it("show an overlay with another image, namespace and placement, and nothing of the defaults left in it", async () => {
    const objects = await kustomized("overlay");
    expect(objects.map(nameOf).sort()).toEqual(
      released
        .map((object) => nameOf(object).replace(`Namespace ${DEFAULT_NAMESPACE}`, "Namespace network-addons"))
        .sort(),
    );
    const text = JSON.stringify(objects);
    expect(text).not.toContain(IMAGE_REPOSITORY);
    expect(text).not.toContain(`"namespace":"${DEFAULT_NAMESPACE}"`);
    expect(text.split("registry.example.com/cluster-network-addons:my-tag")).toHaveLength(5);
    expect(objects.every(({ metadata }) => metadata.labels?.["example.com/team"] === "network")).toBe(true);
    const operator = operatorOf(objects);
    expect(operator.spec).toMatchObject({ replicas: 2, selector: { matchLabels: { name: OPERATOR_NAME } } });
    expect(operator.spec?.template.metadata?.labels).toMatchObject({ "example.com/team": "network" });
    expect(operator.spec?.template.spec?.nodeSelector).toEqual({ "kubernetes.io/os": "linux" });
  });

  it("change with the chart's values what these say", async () => {
    const image = `registry.example.com/own@sha256:${"0".repeat(64)}`;
    const values = {
      image,
      imagePullSecrets: [{ name: "one" }, { name: "two" }],
      namespace: "network-addons",
      replicas: 2,
      resources: { limits: { memory: "256Mi" } },
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ operator: "Exists" }],
      affinity: { nodeAffinity: {} },
      priorityClassName: "own-class",
      logLevel: "debug",
      labels: { "example.com/team": "network" },
      annotations: { "example.com/note": "own" },
    };
    const objects = await templated(...setAll(values));
    expect(JSON.stringify(objects)).not.toContain(IMAGE_REPOSITORY);
    expect(JSON.stringify(objects)).not.toContain(`"namespace":"${DEFAULT_NAMESPACE}"`);
    for (const { metadata } of objects) {
      expect(metadata).toMatchObject({ labels: values.labels, annotations: values.annotations });
    }
    const { spec } = operatorOf(objects);
    expect(spec?.replicas).toBe(2);
    expect(spec?.template.metadata).toMatchObject({ labels: values.labels, annotations: values.annotations });
    const { imagePullSecrets, nodeSelector, tolerations, affinity, priorityClassName } = values;
    expect(spec?.template.spec).toMatchObject({
      imagePullSecrets,
      nodeSelector,
      tolerations,
      affinity,
      priorityClassName,
    });
    const [container] = spec?.template.spec?.containers ?? [];
    expect(container).toMatchObject({ image, resources: values.resources });
    const variables = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
    expect(variables).toMatchObject({
      LOG_LEVEL: "debug",
      IMAGE_PULL_SECRETS: "one,two",
      LINUX_BRIDGE_IMAGE: image,
      LINUX_BRIDGE_MARKER_IMAGE: image,
      KUBEMACPOOL_IMAGE: image,
    });
  });

  it("take a value for the text that it is, whatever it looks like in YAML", async () => {
    const values = {
      namespace: "123",
      priorityClassName: "on",
      imagePullSecrets: [{ name: "1e3" }],
      componentImages: { MULTUS_IMAGE: "localhost/0777:0777" },
      nodeSelector: { y: "no" },
      labels: { off: "1_000" },
      annotations: { n: "02:00:00:00:00:00" },
      networkAddonsConfig: { linuxBridge: { nadLint: "Off" } },
    };
    const objects = await templated(...setAll(values));
    const { metadata, spec } = operatorOf(objects);
    const { priorityClassName, imagePullSecrets, nodeSelector, labels, annotations, networkAddonsConfig } = values;
    expect(metadata).toMatchObject({ namespace: values.namespace, labels, annotations });
    expect(spec?.template.spec).toMatchObject({ priorityClassName, imagePullSecrets, nodeSelector });
    const [container] = spec?.template.spec?.containers ?? [];
    expect(container?.env).toContainEqual({ name: "MULTUS_IMAGE", value: "localhost/0777:0777" });
    expect(objects.find(({ kind }) => kind === "NetworkAddonsConfig")).toMatchObject({ spec: networkAddonsConfig });
  });

  it("take quantities with and without a unit, as text and as number", async () => {
    const limits = { cpu: 1, memory: "1.5Gi", "ephemeral-storage": "1e9", "hugepages-2Mi": "4Mi", "example.com/a": 2 };
    const resources = { requests: { cpu: 0.5, memory: 134217728 }, limits };
    const [container] = operatorOf(await templated(...setAll({ resources }))).spec?.template.spec?.containers ?? [];
    expect(container?.resources).toEqual(resources);
  });

  it("leave out what an empty value stands for", async () => {
    // Helm merges a map with the default's: only null leaves it out.
    const values = { nodeSelector: {}, tolerations: [], affinity: null, resources: null, priorityClassName: "" };
    const pod = operatorOf(await templated(...setAll(values))).spec?.template.spec;
    for (const key of ["nodeSelector", "tolerations", "affinity", "priorityClassName", "imagePullSecrets"]) {
      expect(pod).not.toHaveProperty(key);
    }
    expect(pod?.containers[0]).not.toHaveProperty("resources");
  });

  it("take an empty image of a component for its default", async () => {
    const values = { componentImages: { MULTUS_IMAGE: "", OVS_CNI_IMAGE: "registry.test/ovs:1" } };
    const [container] = operatorOf(await templated(...setAll(values))).spec?.template.spec?.containers ?? [];
    expect(container?.env).toContainEqual({ name: "OVS_CNI_IMAGE", value: "registry.test/ovs:1" });
    expect(container?.env?.map(({ name }) => name)).not.toContain("MULTUS_IMAGE");
  });

  it("have a NetworkAddonsConfig only where the chart's values have one, and no namespace where Helm makes it", async () => {
    const spec = { linuxBridge: {}, kubeMacPool: { rangeStart: "02:00:00:00:00:00", rangeEnd: "02:00:00:00:ff:ff" } };
    const objects = await templated("--namespace", DEFAULT_NAMESPACE, ...setAll({ networkAddonsConfig: spec }));
    const config = objects.find(({ kind }) => kind === "NetworkAddonsConfig");
    expect(config).toMatchObject({ metadata: { name: "cluster", annotations: { [KEEP]: "keep" } }, spec });
    expect(objects.filter(({ kind }) => kind === "Namespace")).toEqual([]);
  });

  it("pass Helm's own check", async () => {
    expect(await helm.run(["lint", "--strict", CHART])).toMatchObject({ code: 0 });
  });

  it.each([
    [{ imgae: DEFAULT_IMAGE }, "imgae"],
    [{ namespace: "Not_A_Name" }, "/namespace"],
    [{ replicas: 0 }, "/replicas"],
    [{ logLevel: "loud" }, "/logLevel"],
    [{ tolerations: [{ key: "a".repeat(400), operator: "Exists" }] }, "/tolerations/0/key"],
    [{ tolerations: [{ operator: "Exists", efect: "NoSchedule" }] }, "efect"],
    [{ networkAddonsConfig: { linuxBrigde: {} } }, "linuxBrigde"],
    [{ imagePullSecrets: ["registry-login"] }, "/imagePullSecrets/0"],
    [{ imagePullSecrets: "registry-login" }, "/imagePullSecrets"],
    [{ resources: { limit: {} } }, "limit"],
    [{ resources: { limits: "1" } }, "/resources/limits"],
    [{ priorityClassName: 5 }, "/priorityClassName"],
  ])("refuse the value %o", async (values, named) => {
    const { code, stderr } = await template(...setAll(values));
    expect(code).toBe(1);
    expect(stderr).toContain(named);
  });

  it.each([
    [{ image: "" }, 'image "": the product\'s image is REGISTRY/NAME:TAG or'],
    [{ image: "registry.test:5000/own" }, 'image "registry.test:5000/own": the product\'s image is'],
    [{ image: "https://registry.test/own:1" }, 'image "https://registry.test/own:1": the product\'s image is'],
    [
      { componentImages: { OVS_CNI_IMAGE: "registry.test/ovs:1", MULTUS_IMAGE: "https://registry.test/multus:4" } },
      'componentImages.MULTUS_IMAGE "https://registry.test/multus:4": an image is REGISTRY/NAME:TAG or',
    ],
    [
      { componentImages: { MULTUS_IMAGE: "library/multus:4" } },
      'componentImages.MULTUS_IMAGE "library/multus:4": an image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST',
    ],
    [{ image: "addons:1" }, 'image "addons:1": the product\'s image is REGISTRY/NAME:TAG or'],
    [{ imageMirror: "registry.test/mirror/" }, 'imageMirror "registry.test/mirror/": a mirror is HOST:PORT/PATH'],
    [{ labels: { team: "b a r" } }, 'labels.team "b a r" has to be the value of a label: empty, or at most 63'],
    [{ labels: { name: "other" } }, "labels.name cannot be set: it is a label of the release."],
    [{ labels: { "a b": "" } }, 'labels: "a b" has to be the key of a label: NAME or DOMAIN/NAME'],
    [{ annotations: { "a/b/c": "any text" } }, 'annotations: "a/b/c" has to be the key of a label'],
    [{ nodeSelector: { "zone/": "a" } }, 'nodeSelector: "zone/" has to be the key of a label'],
    [{ nodeSelector: { zone: "-a" } }, 'nodeSelector.zone "-a" has to be the value of a label'],
    [{ priorityClassName: "Own_Class" }, 'priorityClassName "Own_Class": the name of a PriorityClass has lower-case'],
    [
      { imagePullSecrets: [{ name: "a" }, { name: "My Secret" }] },
      'imagePullSecrets[1].name "My Secret": the name of a',
    ],
    [{ resources: { limits: { cpus: "1" } } }, 'resources.limits: "cpus" is no resource: write cpu, memory'],
    [{ resources: { limits: { memory: "128MB" } } }, 'resources.limits.memory: "128MB" is no quantity: write a number'],
    [{ resources: { requests: { cpu: true } } }, 'resources.requests.cpu: "true" is no quantity: write a number'],
    [
      { tolerations: [{ operator: "Exists" }, { key: "a", operator: "Exist" }] },
      "tolerations[1]: operator of a toleration",
    ],
    [
      { tolerations: [{ key: "a", effect: "noSchedule" }] },
      "tolerations[0]: effect of a toleration has to be NoSchedule,",
    ],
    [{ tolerations: [{ effect: "NoSchedule" }] }, "tolerations[0]: a toleration without a key tolerates all taints"],
    [
      { tolerations: [{ key: "a", operator: "Exists", value: "b" }] },
      "tolerations[0]: a toleration with the operator Exists",
    ],
    [
      { tolerations: [{ key: "a", tolerationSeconds: 0 }] },
      "tolerations[0]: a toleration with tolerationSeconds has to",
    ],
    [{ tolerations: [{ key: "a b" }] }, "tolerations[0]: key of a toleration has to be the key of a label"],
    [
      { tolerations: [{ key: "a", value: "b c" }] },
      "tolerations[0]: value of a toleration has to be the value of a label",
    ],
  ])("refuse in one sentence what names no image or label, or makes no pod: %j", async (values, sentence) => {
    const { code, stderr } = await template(...setAll(values));
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain("[a-z");
  });
});

function setAll(values: object): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]);
}
