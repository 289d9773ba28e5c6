/**
 * The values of the Helm chart: names, meanings and what is accepted. The defaults are those of the release, so a chart
 * without own values applies what release.yaml applies. What the NetworkAddonsConfig configures is no value.
 */

import { Document, type Pair, type Scalar, type YAMLMap } from "yaml";
import * as z from "zod";
import { LABEL_PATTERN, MAX_LABEL } from "../src/api/legal-names.ts";
import { DEFAULT_NAMESPACE } from "../src/api/names.ts";
import { networkAddonsConfigSpecSchema } from "../src/api/network-addons-config.ts";
import { placementSchema } from "../src/api/placement.ts";
import type { Deployment } from "../src/kube/client/built-in-kinds.ts";
import { FOR_EVERY_PARSER } from "../src/kube/client/object-yaml.ts";
import { COMPONENT_IMAGES, componentImages, PUBLISHED_IMAGES } from "../src/operator/config/component-images.ts";
import { HEADER } from "./object-yaml.ts";

const { nodeSelector, tolerations, affinity } = placementSchema.shape;
const strings = z.record(z.string(), z.string());
/** A number without a unit may be written as a number. */
const quantities = z.record(z.string(), z.unknown());

/** Images, labels and what pods are made of are checked by a template (chart-values-check.ts). */
const chartValuesSchema = z.object({
  image: z.string().describe("The image of every process of the product, with its tag or digest."),
  componentImages: z
    .object(Object.fromEntries(COMPONENT_IMAGES.map((variable) => [variable, z.string().exactOptional()])))
    .exactOptional()
    .describe(`Images of components that other projects build, by variable, in place of these:\n${defaultImages()}`),
  imageMirror: z
    .string()
    .describe("Goes before the names of other projects' images, for a cluster without internet: HOST:PORT/PATH."),
  imagePullSecrets: z
    .array(z.object({ name: z.string().min(1) }))
    .exactOptional()
    .describe("Secrets with which nodes pull the image, for the operator and its components: a list of {name: ...}."),
  namespace: z
    .string()
    .regex(new RegExp(LABEL_PATTERN))
    .max(MAX_LABEL)
    .describe(
      "Namespace of the operator and its components. The chart creates it, unless it is the namespace of the Helm release.",
    ),
  replicas: z.int().min(1).max(3).describe("Replicas of the operator. One works, the others wait to take over."),
  resources: z
    .object({ requests: quantities.exactOptional(), limits: quantities.exactOptional() })
    .exactOptional()
    .describe("Resources of the operator's container. Helm merges them with these, and null leaves all out."),
  nodeSelector: nodeSelector.describe("Labels of the nodes on which the operator may run."),
  tolerations: tolerations.describe("Taints of nodes that the operator tolerates."),
  affinity: affinity.describe(
    "Scheduling constraints of the operator, as in core/v1 Affinity. Helm merges them with these, and null leaves all out.",
  ),
  priorityClassName: z.string().exactOptional().describe("Priority class of the operator's pods."),
  logLevel: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal"])
    .describe("The least severe entries that the operator logs."),
  labels: strings.exactOptional().describe("Labels for every object of the chart and for the operator's pods."),
  annotations: strings
    .exactOptional()
    .describe("Annotations for every object of the chart and for the operator's pods."),
  networkAddonsConfig: networkAddonsConfigSpecSchema
    .exactOptional()
    .describe(
      "Spec of the NetworkAddonsConfig. Empty: the chart creates none. Its CRD must exist, so set it after the first install.",
    ),
  global: z.looseObject({}).exactOptional().describe("Values of a parent chart. The chart uses none of them."),
});

export type ChartValues = z.infer<typeof chartValuesSchema>;

/** Defaults, read off the operator's Deployment in the release. */
export function chartValues(operator: Deployment, imageMirror: string): ChartValues {
  const pod = operator.spec?.template.spec;
  const [container] = pod?.containers ?? [];
  const defaults = {
    image: container?.image,
    componentImages: {},
    imageMirror,
    imagePullSecrets: [],
    namespace: DEFAULT_NAMESPACE,
    replicas: operator.spec?.replicas,
    resources: container?.resources,
    nodeSelector: {},
    tolerations: pod?.tolerations,
    affinity: pod?.affinity,
    priorityClassName: pod?.priorityClassName,
    logLevel: container?.env?.find(({ name }) => name === "LOG_LEVEL")?.value,
    labels: {},
    annotations: {},
    networkAddonsConfig: {},
  };
  return chartValuesSchema.parse(defaults);
}

/** values.yaml: every value with its meaning above it. */
export function valuesYaml(values: ChartValues): string {
  const document = new Document(values, { ...FOR_EVERY_PARSER, aliasDuplicateObjects: false });
  for (const pair of (document.contents as unknown as YAMLMap).items as Pair<Scalar<keyof ChartValues>>[]) {
    const { description } = chartValuesSchema.shape[pair.key.value];
    pair.key.commentBefore = ` ${description?.replaceAll("\n", "\n ")}`;
    pair.key.spaceBefore = true;
  }
  return HEADER + document.toString({ lineWidth: 120 });
}

export function valuesSchemaJson(): string {
  const schema = z.toJSONSchema(chartValuesSchema, { target: "draft-7", io: "output" });
  const withoutExtensions = (key: string, value: unknown) => (key.startsWith("x-kubernetes-") ? undefined : value);
  return `${JSON.stringify(schema, withoutExtensions, 2)}\n`;
}

function defaultImages(): string {
  const images = componentImages();
  return COMPONENT_IMAGES.map(
    (variable) => `  ${variable}: ${images[variable]} (${PUBLISHED_IMAGES[variable].version})`,
  ).join("\n");
}
