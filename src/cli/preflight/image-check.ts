import { OPERATOR_NAME } from "../../api/names.ts";
import type { Deployment } from "../../kube/client/built-in-kinds.ts";
import {
  COMPONENT_IMAGES,
  type ComponentImage,
  IMAGE_PATTERN,
  PUBLISHED_IMAGES,
} from "../../operator/config/component-images.ts";
import { type CheckLine, listed, note, unchecked } from "./check-line.ts";
import type { PreflightFacts } from "./preflight-facts.ts";
import { placeOf, repositoryOf } from "./workloads.ts";

/** What the present operator says about images and this one would not: it goes with its Deployment. */
export function checkImages({ operators, target }: PreflightFacts): readonly CheckLine[] {
  if ("unknown" in operators) {
    return [unchecked("images", "which images the present operator names", operators.unknown)];
  }
  const others = (operators.value ?? []).filter(({ isOurs, mayWriteStatus }) => !isOurs && mayWriteStatus !== false);
  return others.flatMap(({ program }) => [...ownPlaces(program, target), ...pullSecrets(program)]);
}

/** Images that come from elsewhere. Another version from the same place is what a takeover is about. */
function ownPlaces(program: Deployment, target: string): readonly CheckLine[] {
  const variables = variablesOf(program);
  const differing = COMPONENT_IMAGES.flatMap((variable): [ComponentImage, string][] => {
    const image = variables.get(variable) ?? "";
    const isImage = new RegExp(IMAGE_PATTERN).test(image);
    return !isImage || repositoryOf(image) === PUBLISHED_IMAGES[variable].name ? [] : [[variable, image]];
  });
  if (differing.length === 0) return [];
  const what = differing.map(([variable, image]) => `${variable} ${repositoryOf(image)}`);
  const text = `Deployment ${placeOf(program)} takes images from elsewhere than this operator: ${listed(what)}. To keep them, set them after the installation, in the chart by componentImages.`;
  const set = differing.map(([variable, image]) => `${variable}=${image}`).join(" ");
  return [note("images", text, `kubectl -n ${target} set env deployment/${OPERATOR_NAME} ${set}`)];
}

function pullSecrets(program: Deployment): readonly CheckLine[] {
  const names = (program.spec?.template.spec?.imagePullSecrets ?? []).flatMap(({ name }) => name ?? []);
  if (names.length === 0) return [];
  const which = names.length === 1 ? "pull Secret" : "pull Secrets";
  return [
    note(
      "images",
      `Deployment ${placeOf(program)} has the ${which} ${listed(names)}: name what you need in your package.`,
    ),
  ];
}

function variablesOf({ spec }: Deployment): ReadonlyMap<string, string | undefined> {
  const containers = spec?.template.spec?.containers ?? [];
  return new Map(containers.flatMap(({ env = [] }) => env.map(({ name, value }) => [name, value] as const)));
}
