/**
 * The template of the Helm chart that refuses values which name no image or are no labels, and renders nothing. The schema of
 * the values could only answer with its pattern, which no reader understands: a template says it in a sentence.
 */

import { KEY_TEXT, LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN, VALUE_TEXT } from "../src/api/legal-names.ts";
import { LABEL_COMPONENT, LABEL_PART_OF, LABEL_VERSION } from "../src/api/names.ts";
import {
  IMAGE_MIRROR_PATTERN,
  IMAGE_MIRROR_TEXT,
  IMAGE_PATTERN,
  IMAGE_TEXT,
} from "../src/operator/config/component-images.ts";

/** A tag or a digest after the last slash. Without one nodes may run different images. */
const TAG_OR_DIGEST = "[:@][^/]*$";
const OWN_IMAGE_TEXT =
  "the product's image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST, such as registry.example.com/addons:v1, without https://";

/** Labels of the release, which no value may change. `name` is the Deployment's selector. */
const OWN_LABELS = ["name", LABEL_COMPONENT, LABEL_PART_OF, LABEL_VERSION];

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
{{- if not (and (regexMatch $image .Values.image) (regexMatch \`${TAG_OR_DIGEST}\` .Values.image)) }}
{{- fail (printf "image %q: ${OWN_IMAGE_TEXT}." .Values.image) }}
{{- end }}
{{- range $variable, $value := .Values.componentImages }}
{{- if and $value (not (regexMatch $image $value)) }}
{{- fail (printf "componentImages.%s %q: ${IMAGE_TEXT}." $variable $value) }}
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
`;
