/** Objects as one YAML text, with the header of generated files. */

import { stringify } from "yaml";

export const HEADER = "# Written by `npm run generate`. Change the code, not this file.\n";

export function objectYaml(object: unknown): string {
  return stringify(object, { lineWidth: 120, aliasDuplicateObjects: false });
}

export function objectsYaml(objects: readonly unknown[]): string {
  return HEADER + objects.map(objectYaml).join("---\n");
}
