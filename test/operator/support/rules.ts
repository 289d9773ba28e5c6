/** The rules that the operator renders with default settings, as Prometheus reads them. */
import { renderEverything } from "../../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

/** Has an alert of the operator's own rules once more. Prometheus reads each PrometheusRule as a file, promtool all as one. */
const COPY = "kubemacpool-prometheus-rule";

const rules = renderEverything(DEFAULT_SETTINGS).filter(({ kind }) => kind === "PrometheusRule");
const groupsOf = ({ spec }: (typeof rules)[number]) => (spec as { readonly groups: readonly Group[] }).groups;

export const COPIED_RULES: readonly Rule[] = rules
  .filter(({ metadata }) => metadata.name === COPY)
  .flatMap(groupsOf)
  .flatMap((group) => group.rules);

export const RULE_GROUPS: readonly Group[] = rules.filter(({ metadata }) => metadata.name !== COPY).flatMap(groupsOf);

export function alertNames(): string[] {
  return RULE_GROUPS.flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? []));
}
