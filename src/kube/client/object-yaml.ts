import { type DocumentOptions, type SchemaOptions, stringify, type ToStringOptions } from "yaml";

/**
 * YAML that means the same to every parser. kubectl and Helm read YAML 1.1, where `Off`, `y`, `0777` and `02:00:00:00:00:00` are
 * no texts unless they are in quotes; in YAML 1.2, `0o17` is none.
 */
export const FOR_EVERY_PARSER: DocumentOptions & SchemaOptions = { compat: "yaml-1.1" };

export function objectYaml(object: unknown, { lineWidth = 120 }: Pick<ToStringOptions, "lineWidth"> = {}): string {
  return stringify(object, { ...FOR_EVERY_PARSER, lineWidth, aliasDuplicateObjects: false });
}
