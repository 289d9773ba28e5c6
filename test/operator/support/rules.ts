/** The rules that the operator renders with default settings, as Prometheus reads them. */
import { renderEverything } from "../../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/settings.ts";

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

export const RULE_GROUPS: readonly Group[] = renderEverything(DEFAULT_SETTINGS)
  .filter(({ kind }) => kind === "PrometheusRule")
  .flatMap(({ spec }) => (spec as { readonly groups: readonly Group[] }).groups);

export function alertNames(): string[] {
  return RULE_GROUPS.flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? []));
}
