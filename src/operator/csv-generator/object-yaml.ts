/** An object as YAML, as all packages have it. */

import { stringify } from "yaml";

export function objectYaml(object: unknown): string {
  return stringify(object, { lineWidth: 120, aliasDuplicateObjects: false });
}
