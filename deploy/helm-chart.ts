/**
 * The Helm chart: the release's objects with template expressions in place of what values change. An object is rendered
 * with marks, written as YAML, and the marks are then replaced.
 */

import { apiVersionOf, NETWORK_ADDONS_CONFIGS } from "../src/api/kinds.ts";
import { MIN_KUBERNETES_VERSION, NETWORK_ADDONS_CONFIG_NAME, PRODUCT_VERSION } from "../src/api/names.ts";
import type { Deployment } from "../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../src/kube/client/resource.ts";
import { REMOVAL_CHECK } from "../src/operator/components/standing/removal-guard.ts";
import { release } from "../src/operator/release.ts";
import { chartValues, valuesSchemaJson, valuesYaml } from "./chart-values.ts";
import { VALUES_CHECK } from "./chart-values-check.ts";
import { HEADER, objectYaml } from "./object-yaml.ts";

export interface ChartFile {
  /** Relative to the chart's folder. */
  readonly path: string;
  readonly text: string;
}

const KEEP = { "helm.sh/resource-policy": "keep" };
/** `@value NAME@`: the value itself. */
const value = (name: string): string => `@value ${name}@`;
/** A key with this content is there only when the value is not empty. */
const block = (name: string): string => `@block ${name}@`;
/** The same for a text. */
const line = (name: string): string => `@line ${name}@`;
/** A key of a map: the entries of the value, beside others. */
const entries = (name: string): string => `@entries ${name}@`;

export function helmChart(image: string, mirror = ""): ChartFile[] {
  const { foundation, operator, admissionGuard } = release(value("image"), value("namespace"));
  const [namespace, definition] = foundation;
  const workload = operator.at(-1) as Deployment;
  const access = operator.slice(0, -1);
  const defaults = chartValues(release(image).operator.at(-1) as Deployment, mirror);
  return [
    { path: "Chart.yaml", text: HEADER + objectYaml(CHART) },
    { path: "values.yaml", text: valuesYaml(defaults) },
    { path: "values.schema.json", text: valuesSchemaJson() },
    { path: "templates/values-check.yaml", text: HEADER + VALUES_CHECK },
    { path: "templates/namespace.yaml", text: HEADER + outsideOfRelease(template(namespace, KEEP)) },
    { path: "templates/crd.yaml", text: HEADER + template(definition, KEEP) },
    { path: "templates/rbac.yaml", text: HEADER + access.map((object) => template(object)).join("---\n") },
    { path: "templates/deployment.yaml", text: HEADER + template(operatorWorkload(workload)) },
    {
      path: "templates/operator-fence.yaml",
      text: HEADER + admissionGuard.map((object) => template(object)).join("---\n"),
    },
    { path: "templates/removal-check.yaml", text: HEADER + template(REMOVAL_HOOK, REMOVAL_HOOK.metadata.annotations) },
    { path: "templates/network-addons-config.yaml", text: HEADER + NETWORK_ADDONS_CONFIG },
    { path: "templates/NOTES.txt", text: NOTES },
  ];
}

const CHART = {
  apiVersion: "v2",
  name: "cluster-network-addons",
  description: "Linux bridges, MAC addresses and their operator for KubeVirt",
  type: "application",
  version: PRODUCT_VERSION,
  appVersion: PRODUCT_VERSION,
  kubeVersion: `>=${MIN_KUBERNETES_VERSION}-0`,
};

/** `helm uninstall` creates it before it deletes anything. The operator's guard refuses it while a NetworkAddonsConfig exists. */
const REMOVAL_HOOK = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: REMOVAL_CHECK,
    namespace: value("namespace"),
    annotations: {
      "helm.sh/hook": "pre-delete",
      "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
    },
  },
};

/** The chart never deletes the NetworkAddonsConfig: that removes every component. */
const NETWORK_ADDONS_CONFIG = [
  "{{- with .Values.networkAddonsConfig }}",
  objectYaml({
    apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS),
    kind: NETWORK_ADDONS_CONFIGS.kind,
    metadata: { name: NETWORK_ADDONS_CONFIG_NAME, annotations: KEEP },
  }).trimEnd(),
  "spec:",
  "  {{- toYaml . | nindent 2 }}",
  "{{- end }}",
  "",
].join("\n");

const NOTES = `{{- if not .Values.networkAddonsConfig -}}
The operator is installed. It deploys nothing until there is a NetworkAddonsConfig: see docs/guide/install.md.
{{ end -}}
{{- if eq .Values.namespace .Release.Namespace -}}
The components on the nodes need a namespace for privileged pods. Where the cluster enforces another level:
  kubectl label namespace {{ .Values.namespace }} pod-security.kubernetes.io/enforce=privileged
{{ end -}}
To remove the product: kubectl delete networkaddonsconfig cluster, and then helm uninstall.
`;

/** Helm creates the namespace of its release itself. */
function outsideOfRelease(text: string): string {
  return `{{- if ne .Values.namespace .Release.Namespace }}\n${text}{{- end }}\n`;
}

function operatorWorkload(workload: Deployment): KubeObject {
  const { replicas: _, template: pods, ...spec } = workload.spec as NonNullable<Deployment["spec"]>;
  const { serviceAccountName, priorityClassName, affinity, tolerations, containers, ...pod } = pods.spec as NonNullable<
    typeof pods.spec
  >;
  const [container] = containers;
  const variables = (container?.env ?? []).map((variable) =>
    variable.name === "LOG_LEVEL" ? { ...variable, value: value("logLevel") } : variable,
  );
  return {
    ...workload,
    spec: {
      replicas: value("replicas"),
      ...spec,
      template: {
        ...pods,
        metadata: extensible(pods.metadata),
        spec: {
          serviceAccountName,
          imagePullSecrets: block("imagePullSecrets"),
          priorityClassName: line("priorityClassName"),
          ...pod,
          nodeSelector: block("nodeSelector"),
          affinity: block("affinity"),
          tolerations: block("tolerations"),
          containers: [
            {
              ...container,
              env: [...variables, "@component images@", "@pull secrets@"],
              resources: block("resources"),
            },
            ...containers.slice(1),
          ],
        },
      },
    },
  } as KubeObject;
}

/** Metadata with the labels and annotations of the values beside its own. */
function extensible(metadata: KubeObject["metadata"] | undefined, annotations: Readonly<Record<string, string>> = {}) {
  const { labels, annotations: _, ...rest } = metadata ?? {};
  return {
    ...rest,
    labels: labels === undefined ? block("labels") : { ...labels, [entries("labels")]: "" },
    annotations:
      Object.keys(annotations).length === 0 ? block("annotations") : { ...annotations, [entries("annotations")]: "" },
  };
}

function template(object: KubeObject | undefined, annotations: Readonly<Record<string, string>> = {}): string {
  const text = objectYaml({ ...object, metadata: extensible(object?.metadata, annotations) });
  if (text.includes("{{")) throw new Error(`Helm would take a part of ${object?.metadata.name} for an expression.`);
  return text.split("\n").map(expression).join("\n");
}

const IMAGES = [
  "{{- range $variable, $image := .Values.componentImages }}",
  "{{- with $image }}",
  "- name: {{ $variable }}",
  '  value: "{{ . }}"',
  "{{- end }}",
  "{{- end }}",
  "{{- with .Values.imageMirror }}",
  "- name: IMAGE_MIRROR",
  '  value: "{{ . }}"',
  "{{- end }}",
];

const PULL_SECRETS = [
  "{{- with .Values.imagePullSecrets }}",
  "- name: IMAGE_PULL_SECRETS",
  '  value: "{{ range $index, $secret := . }}{{ if $index }},{{ end }}{{ $secret.name }}{{ end }}"',
  "{{- end }}",
];

/** One line of YAML with its marks replaced. */
function expression(text: string): string {
  const indent = text.slice(0, text.length - text.trimStart().length);
  const lines = (texts: readonly string[]): string => texts.map((each) => indent + each).join("\n");
  const [, key, kind, name] = /^ *(\w+): "@(block|line) (\w+)@"$/.exec(text) ?? [];
  if (key !== undefined) {
    const content =
      kind === "line" ? [`${key}: {{ quote . }}`] : [`${key}:`, `  {{- toYaml . | nindent ${indent.length + 2} }}`];
    return lines([`{{- with .Values.${name} }}`, ...content, "{{- end }}"]);
  }
  const [, map] = /^ *"@entries (\w+)@": ""$/.exec(text) ?? [];
  if (map !== undefined) {
    return lines([`{{- with .Values.${map} }}`, `{{- toYaml . | nindent ${indent.length} }}`, "{{- end }}"]);
  }
  if (text.trim() === '- "@component images@"') return lines(IMAGES);
  if (text.trim() === '- "@pull secrets@"') return lines(PULL_SECRETS);
  return text.replace(/"@value (replicas)@"/, "{{ .Values.$1 }}").replaceAll(/@value (\w+)@/g, "{{ .Values.$1 }}");
}
