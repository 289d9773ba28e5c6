/** The kustomize base, which is the release, and an overlay that shows what users change. */

import { OPERATOR_NAME } from "../src/api/names.ts";
import { HEADER, objectYaml } from "./object-yaml.ts";

const KUSTOMIZE = "kustomize.config.k8s.io/v1beta1";
/** Variables that hold the image of the components. They follow the operator's own image. */
const IMAGE_VARIABLES = ["LINUX_BRIDGE_IMAGE", "LINUX_BRIDGE_MARKER_IMAGE", "KUBEMACPOOL_IMAGE"];

export function kustomizationBase(): string {
  return HEADER + objectYaml({ apiVersion: KUSTOMIZE, kind: "Kustomization", resources: ["release.yaml"] });
}

/** `repository`: the default image without its tag or digest, which the overlay replaces. */
export function kustomizationOverlay(repository: string): string {
  const field = (path: string) => `spec.template.spec.containers.[name=${OPERATOR_NAME}].${path}`;
  const deployment = { kind: "Deployment", name: OPERATOR_NAME };
  return (
    HEADER +
    objectYaml({
      apiVersion: KUSTOMIZE,
      kind: "Kustomization",
      resources: ["../base"],
      namespace: "network-addons",
      labels: [{ pairs: { "example.com/team": "network" }, includeTemplates: true }],
      images: [{ name: repository, newName: "registry.example.com/cluster-network-addons", newTag: "my-tag" }],
      replacements: [
        {
          source: { ...deployment, fieldPath: field("image") },
          targets: [
            { select: deployment, fieldPaths: IMAGE_VARIABLES.map((name) => field(`env.[name=${name}].value`)) },
          ],
        },
      ],
      patches: [
        {
          target: deployment,
          patch: objectYaml([
            { op: "replace", path: "/spec/replicas", value: 2 },
            { op: "add", path: "/spec/template/spec/nodeSelector", value: { "kubernetes.io/os": "linux" } },
          ]),
        },
      ],
    })
  );
}
