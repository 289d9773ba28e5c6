/** The files in deploy/ that are made from code. A test fails when they differ from what is in the tree. */

import { stringify } from "yaml";
import { CRDS } from "../src/api/crds.ts";
import { releaseObjects } from "../src/operator/release.ts";
import { DEFAULT_SETTINGS } from "../src/operator/settings.ts";

export interface GeneratedFile {
  /** Relative to the repository's root. */
  readonly path: string;
  readonly text: string;
}

const HEADER = "# Written by `npm run generate`. Change the code, not this file.\n";

export function generatedFiles(): GeneratedFile[] {
  return [
    ...CRDS.map((definition) => ({
      path: `deploy/crds/${definition.spec.names.plural}.yaml`,
      text: yaml([definition]),
    })),
    { path: "deploy/release.yaml", text: yaml(releaseObjects(DEFAULT_SETTINGS)) },
  ];
}

function yaml(objects: readonly unknown[]): string {
  const documents = objects.map((object) => stringify(object, { lineWidth: 120, aliasDuplicateObjects: false }));
  return HEADER + documents.join("---\n");
}
