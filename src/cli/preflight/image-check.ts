import { OPERATOR_NAME } from "../../api/names.ts";
import type { Deployment } from "../../kube/client/built-in-kinds.ts";
import {
  COMPONENT_IMAGES,
  type ComponentImage,
  IMAGE_PATTERN,
  IMAGE_TEXT,
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
  const named = COMPONENT_IMAGES.map((variable): [ComponentImage, string] => [variable, variables.get(variable) ?? ""]);
  const isImage = ([, image]: [ComponentImage, string]): boolean => new RegExp(IMAGE_PATTERN).test(image);
  const differing = named
    .filter(isImage)
    .filter(([variable, image]) => repositoryOf(image) !== PUBLISHED_IMAGES[variable].name);
  const refused = named.filter((one) => one[1] !== "" && !isImage(one)).map(([variable]) => variable);
  return [...kept(program, target, differing), ...notTaken(program, refused)];
}

/** The texts of the variables may be anything, so they are not repeated. */
function notTaken(program: Deployment, refused: readonly ComponentImage[]): readonly CheckLine[] {
  if (refused.length === 0) return [];
  const what = `Deployment ${placeOf(program)} names images that this operator refuses: ${listed(refused)}.`;
  return [note("images", `${what} It takes its own there until you set others: ${IMAGE_TEXT}`)];
}

function kept(
  program: Deployment,
  target: string,
  differing: readonly [ComponentImage, string][],
): readonly CheckLine[] {
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
