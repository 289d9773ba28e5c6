/** Objects as one YAML text, with the header of generated files. */

import { objectYaml } from "../src/kube/client/object-yaml.ts";

export { objectYaml };

export const HEADER = "# Written by `npm run generate`. Change the code, not this file.\n";

export function objectsYaml(objects: readonly unknown[]): string {
  return HEADER + objects.map((object) => objectYaml(object)).join("---\n");
}
