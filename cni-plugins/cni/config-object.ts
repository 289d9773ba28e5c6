/**
 * Reads typed values out of a JSON object of the configuration: keys match in any case, null is absent. Booleans and
 * numbers in quotes, as some products' documentation shows them, are taken with a warning.
 */

import { CniError, INVALID_CONFIG } from "./cni-error.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** What a warning about a configuration is about. */
export type WarningKind = "quoted" | "unknown key" | "no VLAN" | "no effect";

/** Gets a sentence for each thing in a configuration that is taken, and is not what was meant. */
export type Warn = (text: string, kind: WarningKind) => void;

export class ConfigObject {
  readonly #values: JsonObject;
  readonly #path: string;
  /** By their lower case. */
  readonly #keys: ReadonlyMap<string, string>;
  readonly #warn: Warn;

  /** `path` is what messages put before a key: "" at the top, "runtimeConfig." below. */
  constructor(values: JsonObject, path = "", warn: Warn = () => {}) {
    this.#values = values;
    this.#path = path;
    this.#warn = warn;
    this.#keys = new Map(Object.keys(values).map((key) => [key.toLowerCase(), key]));
  }

  /** As they are spelled there. */
  keys(): string[] {
    return Object.keys(this.#values);
  }

  /** Also where it is null. */
  has(key: string): boolean {
    return this.#keys.has(key.toLowerCase());
  }

  raw(key: string): unknown {
    const spelled = this.#keys.get(key.toLowerCase());
    return spelled === undefined ? undefined : (this.#values[spelled] ?? undefined);
  }

  boolean(key: string): boolean {
    const value = this.raw(key);
    if (value === undefined || typeof value === "boolean") return value ?? false;
    if (value === "true" || value === "false") return this.#unquoted(key, value, value === "true");
    throw this.fault(key, "true or false");
  }

  string(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === "string") return value;
    throw this.fault(key, "a string");
  }

  strings(key: string): readonly string[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
    throw this.fault(key, "a list of strings");
  }

  integer(key: string, minimum: number, maximum: number): number | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    const number = this.wholeNumber(key);
    if (number !== undefined && number >= minimum && number <= maximum) return number;
    throw this.fault(key, `a whole number from ${minimum} to ${maximum}`);
  }

  /** Undefined for what is none. */
  wholeNumber(key: string): number | undefined {
    const value = this.raw(key);
    if (typeof value === "number") return Number.isInteger(value) ? value : undefined;
    const number = typeof value === "string" ? Number(value) : undefined;
    if (typeof value !== "string" || !Number.isInteger(number) || value !== String(number)) return undefined;
    return this.#unquoted(key, value, number);
  }

  /** An empty one when it is absent. */
  object(key: string): ConfigObject {
    const value = this.raw(key) ?? {};
    if (isJsonObject(value)) return new ConfigObject(value, `${this.#path}${key}.`, this.#warn);
    throw this.fault(key, "an object");
  }

  objects(key: string): readonly ConfigObject[] {
    const value = this.raw(key) ?? [];
    if (!Array.isArray(value)) throw this.fault(key, "a list of objects");
    return value.map((item: unknown, index) => {
      if (isJsonObject(item)) return new ConfigObject(item, `${this.#path}${key}[${index}].`, this.#warn);
      throw this.fault(key, "a list of objects");
    });
  }

  #unquoted<T>(key: string, value: string, taken: T): T {
    const name = `"${this.#path}${key}"`;
    const problem = `is the string "${value}", taken as ${taken}`;
    this.#warn(`${name} ${problem}: write it without quotes, because other plugins refuse it`, "quoted");
    return taken;
  }

  missing(key: string, why: string): CniError {
    return new CniError(INVALID_CONFIG, `"${this.#path}${key}" is missing: ${why}`);
  }

  fault(key: string, expected: string): CniError {
    const message = `"${this.#path}${key}" must be ${expected}, found ${describeValue(this.raw(key))}`;
    return new CniError(INVALID_CONFIG, `${message}: correct it in the network configuration`);
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const SHOWN_CHARACTERS = 60;

function describeValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}...` : text;
  if (typeof value === "string") return `the string ${shown}`;
  if (typeof value === "number") return `the number ${shown}`;
  if (Array.isArray(value)) return `the list ${shown}`;
  return shown;
}
