/**
 * Images of the components that other projects build. The operator's environment names them, and nothing stands in for a
 * missing one: it would be somebody else's choice which program runs on the nodes.
 */

export const COMPONENT_IMAGES = [
  "MULTUS_IMAGE",
  "MULTUS_DYNAMIC_NETWORKS_CONTROLLER_IMAGE",
  "OVS_CNI_IMAGE",
  "MACVTAP_CNI_IMAGE",
  "KUBE_SECONDARY_DNS_IMAGE",
  "CORE_DNS_IMAGE",
  "KUBEVIRT_IPAM_CONTROLLER_IMAGE",
] as const;
/** The environment variable that holds the image. */
export type ComponentImage = (typeof COMPONENT_IMAGES)[number];

export type ComponentImages = Readonly<Partial<Record<ComponentImage, string>>>;

/** Throws a sentence for the component's row in the status. */
export function requireImage(images: ComponentImages, variable: ComponentImage): string {
  const image = images[variable];
  if (image === undefined) throw new Error(missingText([variable]));
  return image;
}

/** The same, with all that are missing in one sentence. */
export function requireImages(images: ComponentImages, variables: readonly ComponentImage[]): void {
  const missing = variables.filter((variable) => images[variable] === undefined);
  if (missing.length > 0) throw new Error(missingText(missing));
}

function missingText(variables: readonly ComponentImage[]): string {
  const what = variables.length === 1 ? "image" : "images";
  return `set ${variables.join(" and ")} in the environment of the operator to the ${what} to deploy`;
}
