import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";

/** A NetworkAttachmentDefinition `default/br1-net` with a mistake. */
export interface WrongNetwork {
  readonly about: string;
  readonly config: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Codes and messages, without notes. */
  readonly says: readonly (readonly [string, string])[];
}

interface Entry {
  readonly about: string;
  readonly config: string;
  readonly resource?: string;
  readonly says: readonly Readonly<Record<string, string>>[];
}

const entries: readonly Entry[] = parse(readFileSync(join(import.meta.dirname, "wrong-networks.yaml"), "utf8"));

export const WRONG_NETWORKS: readonly WrongNetwork[] = entries.map(({ about, config, resource, says }) => ({
  about,
  config,
  annotations: annotationsWith(resource ?? "bridge.network.kubevirt.io/br1"),
  says: says.flatMap((finding) => Object.entries(finding)),
}));

function annotationsWith(resource: string): WrongNetwork["annotations"] {
  return resource === "" ? {} : { [NAD_RESOURCE_NAME_ANNOTATION]: resource };
}
