/**
 * The template of the Helm chart that refuses values which name no image or with which no pod can be made, and renders nothing. The schema of
 * the values could only answer with its pattern, which no reader understands: a template says it in a sentence.
 */

import {
  KEY_TEXT,
  LABEL_KEY_PATTERN,
  LABEL_VALUE_PATTERN,
  SUBDOMAIN_PATTERN,
  VALUE_TEXT,
} from "../src/api/legal-names.ts";
import { LABEL_COMPONENT, LABEL_PART_OF, LABEL_VERSION } from "../src/api/names.ts";
import { TAINT_EFFECTS, TOLERATION_OPERATORS, TOLERATION_RULES } from "../src/api/placement.ts";
import {
  IMAGE_MIRROR_PATTERN,
  IMAGE_MIRROR_TEXT,
  IMAGE_PATTERN,
  IMAGE_TEXT,
} from "../src/operator/config/component-images.ts";

const OWN_IMAGE_TEXT =
  "the product's image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST, such as registry.example.com/addons:v1, without https://";

/** Labels of the release, which no value may change. `name` is the Deployment's selector. */
const OWN_LABELS = ["name", LABEL_COMPONENT, LABEL_PART_OF, LABEL_VERSION];

/** Of core/v1. */
const RESOURCE_PATTERN = `^(cpu|memory|ephemeral-storage|hugepages-.+|[^/]+/.+)$`;
const RESOURCE_TEXT = "is no resource: write cpu, memory, ephemeral-storage, hugepages-SIZE or DOMAIN/NAME";
const QUANTITY_PATTERN = "^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$";
const QUANTITY_TEXT = "is no quantity: write a number with or without a unit, such as 100m, 0.5 or 128Mi";
const NAME_TEXT = "lower-case letters, digits, hyphens and dots, with a letter or digit at both ends";

/** When a toleration is wrong, in the language of templates. */
const WRONG_TOLERATION: Readonly<Record<keyof typeof TOLERATION_RULES, string>> = {
  operator: `not (has $operator (list ${quoted(TOLERATION_OPERATORS)}))`,
  effect: `not (has $effect (list ${quoted(TAINT_EFFECTS)}))`,
  noKey: `and (eq $key "") (ne $operator "Exists")`,
  valueOfExists: `and (eq $operator "Exists") (ne $value "")`,
  seconds: `and (hasKey $toleration "tolerationSeconds") (ne $effect "NoExecute")`,
  key: `and $key (not (regexMatch \`${LABEL_KEY_PATTERN}\` $key))`,
  value: `not (regexMatch \`${LABEL_VALUE_PATTERN}\` $value)`,
};

function quoted(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(" ");
}

const refusal = (condition: string, sentence: string, values: string): string => `{{- if ${condition} }}
{{- fail (printf "${sentence}." ${values}) }}
{{- end }}
`;
const TOLERATIONS = Object.entries(WRONG_TOLERATION).map(([rule, condition]) =>
  refusal(condition, `tolerations[%d]: ${TOLERATION_RULES[rule as keyof typeof TOLERATION_RULES].message}`, "$index"),
);
const RESOURCES = ["requests", "limits"].map(
  (kind) => `{{- range $resource, $quantity := .${kind} }}
${refusal(`not (regexMatch \`${RESOURCE_PATTERN}\` $resource)`, `resources.${kind}: %q ${RESOURCE_TEXT}`, "$resource")}${refusal(
  `not (regexMatch \`${QUANTITY_PATTERN}\` (toString $quantity))`,
  `resources.${kind}.%s: %q ${QUANTITY_TEXT}`,
  "$resource (toString $quantity)",
)}{{- end }}
`,
);
const POD_CHECK = `{{- range $index, $secret := .Values.imagePullSecrets }}
${refusal(`not (regexMatch \`${SUBDOMAIN_PATTERN}\` $secret.name)`, `imagePullSecrets[%d].name %q: the name of a Secret has ${NAME_TEXT}`, "$index $secret.name")}{{- end }}
{{- with .Values.priorityClassName }}
${refusal(`not (regexMatch \`${SUBDOMAIN_PATTERN}\` .)`, `priorityClassName %q: the name of a PriorityClass has ${NAME_TEXT}`, ".")}{{- end }}
{{- with .Values.resources }}
${RESOURCES.join("")}{{- end }}
{{- range $index, $toleration := .Values.tolerations }}
{{- $key := default "" .key }}{{ $operator := default "" .operator }}{{ $value := default "" .value }}{{ $effect := default "" .effect }}
${TOLERATIONS.join("")}{{- end }}
`;

const keys = (value: string): string => `{{- range $key, $_ := .Values.${value} }}
{{- if not (regexMatch \`${LABEL_KEY_PATTERN}\` $key) }}
{{- fail (printf "${value}: %q ${KEY_TEXT}." $key) }}
{{- end }}
{{- end }}
`;
const labels = (value: string): string => `${keys(value)}{{- range $key, $text := .Values.${value} }}
{{- if not (regexMatch \`${LABEL_VALUE_PATTERN}\` $text) }}
{{- fail (printf "${value}.%s %q ${VALUE_TEXT}." $key $text) }}
{{- end }}
{{- end }}
`;

export const VALUES_CHECK = `{{- $image := \`${IMAGE_PATTERN}\` }}
{{- if not (regexMatch $image .Values.image) }}
{{- fail (printf "image %q: ${OWN_IMAGE_TEXT}." .Values.image) }}
{{- end }}
{{- range $variable, $value := .Values.componentImages }}
{{- if and $value (not (regexMatch $image $value)) }}
{{- fail (printf "componentImages.%s %q: ${IMAGE_TEXT}" $variable $value) }}
{{- end }}
{{- end }}
{{- range $key, $_ := .Values.labels }}
{{- if has $key (list ${OWN_LABELS.map((label) => `"${label}"`).join(" ")}) }}
{{- fail (printf "labels.%s cannot be set: it is a label of the release." $key) }}
{{- end }}
{{- end }}
${labels("labels")}${keys("annotations")}${labels("nodeSelector")}{{- with .Values.imageMirror }}
{{- if not (regexMatch \`${IMAGE_MIRROR_PATTERN}\` .) }}
{{- fail (printf "imageMirror %q: ${IMAGE_MIRROR_TEXT}." .) }}
{{- end }}
{{- end }}
${POD_CHECK}`;
