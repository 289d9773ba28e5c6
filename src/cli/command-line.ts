import { parseArgs } from "node:util";
import { closestName } from "../api/closest-name.ts";
import { type JsonPathTemplate, parseJsonPathTemplate } from "./json-path-template.ts";

/** The command line after `kubectl macpool`. */

const OUTPUTS = ["table", "wide", "json", "yaml", "name"] as const;
type Output = (typeof OUTPUTS)[number] | JsonPathTemplate;
const JSON_PATH = "jsonpath=";
const OUTPUT_FORMS = [...OUTPUTS, `${JSON_PATH}...`];

/** Names that completion looks up: in the cluster, or in the kubeconfig. */
export type Offer = "namespaces" | "pools" | "networks" | "machines" | "contexts" | "clusters" | "users";

/** An option as help, completion and the parser need it. */
export interface OptionSpec {
  readonly name: string;
  readonly short?: string;
  /** What stands for the value in the help; absent for a switch. */
  readonly value?: string;
  readonly summary: string;
  /** What completion offers. */
  readonly words?: readonly string[];
  readonly offers?: Offer;
  readonly multiple?: boolean;
}

/** What the parser needs to know of a command. */
export interface CommandUsage {
  readonly name: string;
  readonly options?: readonly OptionSpec[];
}

export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  {
    name: "namespace",
    short: "n",
    value: "NAME",
    summary: "namespace; default: that of the context",
    offers: "namespaces",
  },
  { name: "all-namespaces", short: "A", summary: "all namespaces" },
  { name: "output", short: "o", value: "FORMAT", summary: OUTPUT_FORMS.join(", "), words: [...OUTPUTS, JSON_PATH] },
  { name: "no-headers", summary: "no header line in tables" },
  { name: "context", value: "NAME", summary: "context of the kubeconfig to use", offers: "contexts" },
  { name: "cluster", value: "NAME", summary: "cluster of the kubeconfig to use", offers: "clusters" },
  { name: "user", value: "NAME", summary: "user of the kubeconfig to use", offers: "users" },
  { name: "kubeconfig", value: "FILE", summary: "kubeconfig to use" },
  { name: "server", short: "s", value: "URL", summary: "API server, in place of the kubeconfig's" },
  { name: "insecure-skip-tls-verify", summary: "takes any certificate of the API server" },
  { name: "token", value: "TOKEN", summary: "bearer token, in place of other credentials" },
  { name: "as", value: "USER", summary: "asks as this user" },
  { name: "as-group", value: "GROUP", summary: "asks as of this group; may be repeated", multiple: true },
  { name: "request-timeout", value: "TIME", summary: "limit for each answer: 5s, 2m; default: 30s" },
  {
    name: "pool-namespace",
    value: "NAME",
    summary: "where the pool is; default: see its webhooks",
    offers: "namespaces",
  },
  { name: "version", summary: "version of kubectl macpool" },
  { name: "help", short: "h", summary: "help, of a command after its name" },
];

export interface Options {
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
  readonly output: Output;
  readonly noHeaders: boolean;
  readonly context: string | undefined;
  readonly cluster: string | undefined;
  readonly user: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly server: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly token: string | undefined;
  readonly as: string | undefined;
  readonly asGroups: readonly string[];
  readonly requestTimeoutMs: number;
  readonly poolNamespace: string | undefined;
  readonly version: boolean;
  readonly help: boolean;
}

type OptionValue = string | boolean | readonly (string | boolean)[] | undefined;

export interface CommandLine {
  /** Empty when only options were given. */
  readonly command: string;
  readonly args: readonly string[];
  readonly options: Options;
  /** Options of the command itself, by name. */
  readonly own: Readonly<Record<string, OptionValue>>;
}

/** Wrong usage; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
/** The longest that `--request-timeout` can ask for; `0`, which is kubectl's word for no limit, means this. */
const MAX_REQUEST_TIMEOUT_MS = 86_400_000;

/** `-o=json`, as kubectl takes it; parseArgs knows `-ojson` and `-o json`. */
const SHORT_WITH_EQUALS = /^(-[a-zA-Z])=/;

/** Options may stand anywhere; `-ojson`, `-o=json`, `--output=json` and `--output json` are the same. */
export function parseCommandLine(argv: readonly string[], commands: readonly CommandUsage[] = []): CommandLine {
  const { values, positionals } = parsed(optionsEnd(argv), commands);
  const [command = "", ...args] = positionals;
  const text = (name: string): string | undefined => values[name] as string | undefined;
  const asGroups = (values["as-group"] ?? []) as readonly string[];
  if (asGroups.length > 0 && text("as") === undefined) throw new UsageError("--as-group belongs to --as");
  return {
    command,
    args,
    options: {
      namespace: text("namespace"),
      allNamespaces: values["all-namespaces"] === true,
      output: outputOf(text("output") ?? "table"),
      noHeaders: values["no-headers"] === true,
      context: text("context"),
      cluster: text("cluster"),
      user: text("user"),
      kubeconfig: text("kubeconfig"),
      server: text("server"),
      insecureSkipTlsVerify: values["insecure-skip-tls-verify"] === true,
      token: text("token"),
      as: text("as"),
      asGroups,
      requestTimeoutMs: timeoutOf(text("request-timeout")),
      poolNamespace: text("pool-namespace"),
      version: values.version === true,
      help: values.help === true,
    },
    own: ownOptions(values, command, commands),
  };
}

/** `hint`: what to use instead. */
export function noArguments({ command, args }: CommandLine, hint?: string): void {
  if (args.length > 0) throw new UsageError(`${command} takes no argument${hint === undefined ? "" : `: ${hint}`}`);
}

/** `what`: what the argument is, for the refusal. */
export function oneArgument({ command, args }: CommandLine, what: string): string {
  const [argument, ...more] = args;
  if (argument === undefined || more.length > 0) throw new UsageError(`${command} takes one argument: ${what}`);
  return argument;
}

/** The text of an option that the command has. */
export function textOption({ own }: CommandLine, name: string): string | undefined {
  const value = own[name];
  return typeof value === "string" ? value : undefined;
}

/** The texts of an option that can be given several times. */
export function textOptions({ own }: CommandLine, name: string): readonly string[] {
  const value = own[name];
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

export function switchOption({ own }: CommandLine, name: string): boolean {
  return own[name] === true;
}

/** A whole number from `min` to `max`; undefined when the option was not given. */
export function numberOption(line: CommandLine, name: string, min: number, max: number): number | undefined {
  const text = textOption(line, name);
  if (text === undefined) return undefined;
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new UsageError(`--${name} ${JSON.stringify(text)} is not a number from ${min} to ${max}`);
}

function optionsEnd(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  const at = end < 0 ? argv.length : end;
  return argv.map((word, index) => (index < at ? word.replace(SHORT_WITH_EQUALS, "$1") : word));
}

function parsed(args: string[], commands: readonly CommandUsage[]) {
  const known = [...GLOBAL_OPTIONS, ...commands.flatMap(({ options = [] }) => options)];
  const options = Object.fromEntries(
    known.map(({ name, short, value, multiple = false }) => [
      name,
      { type: value === undefined ? ("boolean" as const) : ("string" as const), multiple, ...(short && { short }) },
    ]),
  );
  try {
    return parseArgs({ args: withNegatives(args, options), allowPositionals: true, options });
  } catch (error) {
    const [, ambiguous] = AMBIGUOUS.exec((error as Error).message) ?? [];
    if (ambiguous !== undefined) {
      throw new UsageError(`${ambiguous} has no value: one that begins with "-" is written as ${valueForm(ambiguous)}`);
    }
    const [sentence = ""] = (error as Error).message.split(/\.?(?:\n| To specify)/);
    const [, unknown = ""] = /^Unknown option '--?([^']+)'$/.exec(sentence) ?? [];
    const meant = closestName(unknown, Object.keys(options));
    throw new UsageError(
      `${sentence}: ${meant === undefined ? "see kubectl macpool --help" : `did you mean --${meant}?`}`,
    );
  }
}

/** `Option '--vlan' argument is ambiguous.`, or `Option '-n, --namespace' ...`. */
const AMBIGUOUS = /^Option '(?:-\w, )?(--?[^']+)' argument is ambiguous/;
const valueForm = (option: string): string => (option.startsWith("--") ? `${option}=-VALUE` : `${option}-VALUE`);

/** A number below zero is no option: the command says which numbers it takes. */
function withNegatives(
  args: readonly string[],
  options: Readonly<Record<string, { readonly type: string }>>,
): string[] {
  const takesValue = (word = ""): boolean => word.startsWith("--") && options[word.slice(2)]?.type === "string";
  const end = args.indexOf("--");
  const isNegative = (index: number): boolean =>
    /^-\d/.test(args[index] ?? "") && takesValue(args[index - 1]) && (end < 0 || index < end);
  return args.flatMap((word, index) => {
    if (isNegative(index)) return [];
    return isNegative(index + 1) ? `${word}=${args[index + 1]}` : word;
  });
}

function ownOptions(
  values: Readonly<Record<string, OptionValue>>,
  command: string,
  commands: readonly CommandUsage[],
): Record<string, OptionValue> {
  const globals = new Set(GLOBAL_OPTIONS.map(({ name }) => name));
  const own = Object.entries(values).filter(([name]) => !globals.has(name));
  const has = (usage: CommandUsage, name: string): boolean => usage.options?.some((one) => one.name === name) === true;
  const usage = commands.find(({ name }) => name === command);
  for (const [name] of own) {
    if (usage === undefined || has(usage, name)) continue;
    const owners = commands.filter((one) => has(one, name)).map((one) => one.name);
    throw new UsageError(`${command} has no option --${name}, which belongs to ${owners.join(" and ")}`);
  }
  return Object.fromEntries(own);
}

const UNITS_MS: Readonly<Record<string, number>> = { "": 1_000, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** As kubectl takes it: a number of seconds, or with a unit; 0 is no limit. */
function timeoutOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_REQUEST_TIMEOUT_MS;
  const [, number = "", unit = ""] = /^(\d{1,9})(ms|s|m|h|)$/.exec(text) ?? [];
  if (number === "") {
    throw new UsageError(`--request-timeout ${JSON.stringify(text)} is not a time: write it as 5s, 2m or 1h`);
  }
  const timeoutMs = Number(number) * (UNITS_MS[unit] ?? 1_000);
  return timeoutMs === 0 ? MAX_REQUEST_TIMEOUT_MS : Math.min(timeoutMs, MAX_REQUEST_TIMEOUT_MS);
}

function outputOf(text: string): Output {
  const known = OUTPUTS.find((output) => output === text);
  if (known !== undefined) return known;
  if (!text.startsWith(JSON_PATH)) {
    throw new UsageError(`unknown output ${JSON.stringify(text)}: use one of ${OUTPUT_FORMS.join(", ")}`);
  }
  try {
    return parseJsonPathTemplate(text.slice(JSON_PATH.length));
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
