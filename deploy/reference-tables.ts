/**
 * Tables of docs/reference that are made from code: the fields of the CRDs, and the metrics. In a page, a comment says what the
 * table below it shows; `npm run generate` writes it again, and a test fails when it differs.
 *
 *     <!-- table: fields of MACPool -->
 *     <!-- table: metrics kubevirt_macpool_ kmp_ -->
 *
 * A table ends at the next comment `<!-- end of table -->`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CRDS } from "../src/api/crds.ts";
import type { StructuralSchema } from "../src/api/structural-schema.ts";
import { allMetrics, type DescribedMetric } from "./all-metrics.ts";
import type { GeneratedFile } from "./generated-files.ts";

const REFERENCE = join(import.meta.dirname, "../docs/reference");
const TABLE = /(<!-- table: (fields of|metrics) ([^>]+) -->\n)[\s\S]*?(<!-- end of table -->)/g;
/** Every object of Kubernetes has these. */
const OF_EVERY_OBJECT = ["apiVersion", "kind", "metadata"];
/** Types of Kubernetes, which its own documentation describes. */
const TYPES_OF_KUBERNETES = ["affinity", "tolerations", "namespaceSelector"];

/** Pages of docs/reference as `npm run generate` writes them. Paths are relative to the folder. */
export function referencePages(): GeneratedFile[] {
  const metrics = allMetrics();
  return readdirSync(REFERENCE)
    .filter((path) => path.endsWith(".md"))
    .map((path) => ({ path, text: withTables(readFileSync(join(REFERENCE, path), "utf8"), metrics) }));
}

function withTables(page: string, metrics: readonly DescribedMetric[]): string {
  return page.replace(TABLE, (_, begin: string, kind: string, what: string, end: string) => {
    const table = kind === "metrics" ? metricTable(what.split(" "), metrics) : fieldTable(what);
    return `${begin}\n${table.join("\n")}\n\n${end}`;
  });
}

const cell = (text: string): string => text.replaceAll("|", "\\|");

function fieldTable(kind: string): string[] {
  const schema = CRDS.find(({ spec }) => spec.names.kind === kind)?.spec.versions[0]?.schema.openAPIV3Schema;
  if (schema === undefined) throw new Error(`docs/reference asks for fields of ${kind}, which is no CRD`);
  return ["| field | type | what it says |", "|---|---|---|", ...fieldRows(schema, "")];
}

function fieldRows({ properties = {} }: StructuralSchema, path: string): string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    if (path === "" && OF_EVERY_OBJECT.includes(name)) return [];
    const own = `${path}${name}`;
    const row = `| \`${own}\` | ${typeOf(field)} | ${cell(field.description ?? "")} |`;
    if (TYPES_OF_KUBERNETES.includes(name)) return [row];
    return [row, ...fieldRows(field, `${own}.`), ...(field.items ? fieldRows(field.items, `${own}[].`) : [])];
  });
}

function typeOf(field: StructuralSchema): string {
  const words = field.enum?.filter((word) => word !== "");
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(", ");
  if (field.type === "array") return `list of ${field.items?.type === "object" ? "objects" : `${field.items?.type}s`}`;
  const { type = "any", minimum, maximum } = field;
  return minimum !== undefined && maximum !== undefined && maximum < 2 ** 31 - 1
    ? `${type}, ${minimum} to ${maximum}`
    : type;
}

function metricTable(prefixes: readonly string[], metrics: readonly DescribedMetric[]): string[] {
  const longest = (name: string): string =>
    ALL_PREFIXES.filter((prefix) => name.startsWith(prefix)).toSorted((a, b) => b.length - a.length)[0] ?? "";
  const rows = metrics
    .filter(({ name }) => prefixes.includes(longest(name)))
    .map(({ name, labelNames, help }) => {
      const labels = labelNames.length === 0 ? "" : `{${labelNames.join(",")}}`;
      return `| \`${name}${labels}\` | ${cell(help.replace(/\.$/, ""))} |`;
    });
  return ["| metric | shows |", "|---|---|", ...rows];
}

/** A metric is in the table of the longest prefix that it begins with. */
const ALL_PREFIXES = [
  "kubevirt_cnao_",
  "kubevirt_macpool_",
  "kubevirt_kmp_",
  "kmp_",
  "cert_manager_",
  "bridge_marker_",
  "linux_bridge_",
  "linux_bridge_webhook_",
  "rest_client_",
  "informer_",
  "workqueue_",
  "controller_runtime_",
];
