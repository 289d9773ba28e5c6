import { type LineCounter, type Node, type Scalar, visit } from "yaml";

/** Plain scalars that kubectl, which reads YAML 1.1, and other readers of YAML take for different things. */

export interface Misreading {
  readonly code: "octal" | "boolean" | "mac-unquoted";
  readonly message: string;
}

const OCTAL = /^[-+]?0[0-7_]+$/;
const BOOLEAN = /^(y|n|yes|no|on|off)$/i;
/** Six numbers with colons: in YAML 1.1 a number to the base of 60. */
const SEXAGESIMAL_MAC = /^\d{1,2}(:[0-5]?\d){5}$/;
/** Of one document. */
const MAX_MISREADINGS = 10;

export function misreadingsIn(root: Node | null, lines: LineCounter): Misreading[] {
  const found: Misreading[] = [];
  if (root === null) return found;
  visit(root, {
    Scalar: (key, node) => {
      const misreading = key === "key" ? undefined : misreadingOf(node, lines);
      if (misreading === undefined) return undefined;
      found.push(misreading);
      return found.length < MAX_MISREADINGS ? undefined : visit.BREAK;
    },
  });
  return found;
}

function misreadingOf(node: Scalar, lines: LineCounter): Misreading | undefined {
  if (node.type !== "PLAIN" || node.tag !== undefined) return undefined;
  const { source = "", value } = node;
  const where = `line ${lines.linePos(node.range?.[0] ?? 0).line}: ${source} without quotes is`;
  if (SEXAGESIMAL_MAC.test(source)) {
    return { code: "mac-unquoted", message: `${where} a number for some readers of YAML 1.1. Write "${source}".` };
  }
  if (BOOLEAN.test(source) && typeof value === "boolean") {
    const message = `${where} ${value} for kubectl, and a text for others. Write ${value} or "${source}".`;
    return { code: "boolean", message };
  }
  const decimal = Number(source.replaceAll("_", ""));
  if (!OCTAL.test(source) || value === decimal) return undefined;
  return {
    code: "octal",
    message: `${where} ${value} for kubectl, and ${decimal} for others. Write ${value} or "${source}".`,
  };
}
