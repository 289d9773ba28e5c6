/** Affinities that are refused: rows of the table of wrong specs, and what the operator alone refuses. */

import { KEY_TEXT } from "../../../src/api/legal-names.ts";
import type { WrongSpec } from "./wrong-spec.ts";

const AFFINITY = "spec.placementConfiguration.infra.affinity";
const near = (affinity: object): object => ({ placementConfiguration: { infra: { affinity } } });
const onNodes = (...requirements: object[]): object =>
  near({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: requirements }] },
    },
  });
const REQUIREMENT = `${AFFINITY}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;

export const REFUSED_AFFINITIES: readonly WrongSpec[] = [
  {
    what: "an operator that no requirement for nodes has",
    spec: onNodes({ key: "zone", operator: "Foo", values: ["a"] }),
    texts: [
      `${REQUIREMENT}.0.matchExpressions.0.operator: ` +
        'Invalid option: expected one of "In"|"NotIn"|"Exists"|"DoesNotExist"|"Gt"|"Lt"',
    ],
    atAdmission: [`${REQUIREMENT}[0].matchExpressions[0].operator: Unsupported value: "Foo"`],
  },
  {
    what: "no term for nodes",
    spec: near({ nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } }),
    texts: [`${REQUIREMENT}: Too small: expected array to have >=1 items`],
    atAdmission: [`${REQUIREMENT}: Invalid value: 0`],
  },
  {
    what: "a preference of no weight",
    spec: near({
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0, podAffinityTerm: { topologyKey: "zone" } }],
      },
    }),
    texts: [
      `${AFFINITY}.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.weight: ` +
        "Too small: expected number to be >=1",
    ],
    atAdmission: ["preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0"],
  },
];

/** What the API server takes in an affinity, or drops: a client that asks it to be strict hears of the field. */
export const WRONG_AFFINITIES: readonly (readonly [spec: object, text: string])[] = [
  [near({ foo: 1 }), `${AFFINITY}: has no field "foo", only nodeAffinity, podAffinity, podAntiAffinity`],
  [
    near({ nodeAffinity: { somewhere: "near" } }),
    `${AFFINITY}.nodeAffinity: has no field "somewhere", only requiredDuringSchedulingIgnoredDuringExecution, ` +
      "preferredDuringSchedulingIgnoredDuringExecution",
  ],
  [onNodes({ key: "a b", operator: "Exists" }), `${REQUIREMENT}.0.matchExpressions.0.key: ${KEY_TEXT}`],
  ...(
    [
      [{ operator: "In" }, "has to hold a value at least, for the operators In and NotIn"],
      [{ operator: "NotIn", values: [] }, "has to hold a value at least, for the operators In and NotIn"],
      [{ operator: "Exists", values: ["a"] }, "has to be empty, for the operators Exists and DoesNotExist"],
      [{ operator: "Gt", values: ["1", "2"] }, "has to hold one integer, for the operators Gt and Lt"],
      [{ operator: "Lt", values: ["few"] }, "has to hold one integer, for the operators Gt and Lt"],
    ] as const
  ).map(
    ([requirement, text]) =>
      [onNodes({ key: "zone", ...requirement }), `${REQUIREMENT}.0.matchExpressions.0.values: ${text}`] as const,
  ),
];
