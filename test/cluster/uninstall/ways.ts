/** Every way to uninstall the product while it is configured. The test goes them; docs/guide/upgrade-and-remove.md shows them as a table. */

import { NETWORK_ADDONS_CONFIG_CRD } from "../../../src/api/crds.ts";
import { DEFAULT_NAMESPACE, NETWORK_ADDONS_CONFIG_NAME, OPERATOR_NAME } from "../../../src/api/names.ts";

/** Parts of an installation, with what the documentation calls them. */
export const PARTS = {
  operator: "the operator",
  components: "the components, which go on working",
  configuration: "the NetworkAddonsConfig",
  foundation: "its CRD and the namespace",
  data: "MACPools, MACClaims and their CRDs",
} as const;

export type Part = keyof typeof PARTS;

const EVERYTHING = Object.keys(PARTS) as Part[];

export interface Way {
  /** Shell commands. */
  readonly commands: readonly string[];
  /** Admission refuses it, or a part of it, and says what to do. */
  readonly refused: boolean;
  readonly left: readonly Part[];
  /** Shell commands. None where nothing is to be done. */
  readonly back: readonly string[];
}

const RELEASE = "dist/release/release.yaml";
const OPERATOR = "dist/release/operator.yaml";
const APPLY = "kubectl apply --server-side -f";
/** The user's NetworkAddonsConfig. */
export const CONFIG_FILE = "config.yaml";
export const HELM_RELEASE = "cluster-network-addons";
const CONFIG = `networkaddonsconfig ${NETWORK_ADDONS_CONFIG_NAME}`;

/** In the order in which the test goes them: each begins where the way back from the one before has led. */
export const WAYS: readonly Way[] = [
  {
    commands: [`kubectl delete namespace ${DEFAULT_NAMESPACE}`],
    refused: true,
    left: EVERYTHING,
    back: [],
  },
  {
    commands: [`kubectl delete crd ${NETWORK_ADDONS_CONFIG_CRD.metadata.name}`],
    refused: true,
    left: EVERYTHING,
    back: [],
  },
  {
    commands: [`kubectl -n ${DEFAULT_NAMESPACE} delete deployment ${OPERATOR_NAME}`],
    refused: false,
    left: ["components", "configuration", "foundation", "data"],
    back: [`${APPLY} ${OPERATOR}`],
  },
  {
    commands: [`kubectl delete -f ${RELEASE}`],
    refused: true,
    left: ["components", "configuration", "foundation", "data"],
    back: [`${APPLY} ${RELEASE}`],
  },
  {
    commands: [
      `kubectl delete -f ${OPERATOR}`,
      `kubectl delete --wait=false ${CONFIG}`,
      `kubectl patch ${CONFIG} --type=merge -p '{"metadata":{"finalizers":null}}'`,
    ],
    refused: false,
    left: ["foundation", "data"],
    back: [`${APPLY} ${RELEASE}`, `kubectl apply -f ${CONFIG_FILE}`],
  },
  {
    commands: [`kubectl delete ${CONFIG}`, `kubectl delete -f ${RELEASE}`],
    refused: false,
    left: ["data"],
    back: [`${APPLY} ${RELEASE}`, `kubectl apply -f ${CONFIG_FILE}`],
  },
  {
    commands: [`helm uninstall ${HELM_RELEASE}`],
    refused: true,
    left: EVERYTHING,
    back: [`helm rollback ${HELM_RELEASE} 1`],
  },
];

/** A row of the table in docs/guide/upgrade-and-remove.md. */
export function rowOf({ commands, refused, left, back }: Way): string {
  const code = (lines: readonly string[]): string => lines.map((line) => `\`${line}\``).join("<br>");
  const isWhole = left.length === EVERYTHING.length;
  const taken = EVERYTHING.filter((part) => !left.includes(part)).map((part) => PARTS[part].replace(/,.*/, ""));
  const effects = [
    ...(refused ? [isWhole ? "is refused" : "is refused in part"] : []),
    ...(isWhole ? [] : [`takes away ${taken.join(", ")}`]),
  ];
  const cells = [
    code(commands),
    effects.join("; "),
    isWhole ? "everything" : left.map((part) => PARTS[part]).join("; "),
    back.length === 0 ? "nothing to do" : code(back),
  ];
  return `| ${cells.join(" | ")} |`;
}
