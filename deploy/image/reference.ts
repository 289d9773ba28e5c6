/** References to images as registries and runtimes read them. Only those whose registry is named are accepted here. */

import { ImageError } from "./image-error.ts";

export interface Reference {
  /** Host and port. */
  readonly registry: string;
  readonly repository: string;
  /** What follows `:`. */
  readonly tag: string | undefined;
  /** What follows `@`. */
  readonly digest: string | undefined;
}

const REGISTRY = "[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*(?::[0-9]{1,5})?";
const REPOSITORY = "[a-z0-9]+(?:(?:[./]|__?|-+)[a-z0-9]+)*";
const REFERENCE = new RegExp(`^(${REGISTRY})/(${REPOSITORY})(?::(\\w[\\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`);

/** Without a host a runtime would ask a public registry, where the name may be somebody else's. */
export function parseReference(text: string): Reference {
  const [, registry, repository, tag, digest] = REFERENCE.exec(text) ?? [];
  if (registry === undefined || repository === undefined) {
    throw new ImageError(`${text} is not the name of an image: give REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST`);
  }
  if (!/[.:]/.test(registry) && registry !== "localhost") {
    throw new ImageError(`${text} names no registry: ${registry} would be looked for in a public one`);
  }
  return { registry, repository, tag, digest };
}
