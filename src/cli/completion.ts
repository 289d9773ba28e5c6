import { MAC_POOLS, NETWORK_ATTACHMENT_DEFINITIONS, VIRTUAL_MACHINES } from "../api/kinds.ts";
import { type KubeObject, RESOURCES, type Resource } from "../kube/client/resource.ts";
import { kubeconfigNames } from "../kube/credentials/credentials.ts";
import type { CommandSpec } from "./command.ts";
import {
  GLOBAL_OPTIONS,
  type Offer,
  type OptionSpec,
  type Options,
  parseCommandLine,
  UsageError,
} from "./command-line.ts";
import { COMMANDS } from "./command-table.ts";
import { OpenCluster } from "./open-cluster.ts";

/**
 * What may follow a command line, for the completion scripts. The form is cobra's, which kubectl asks plugins for too: one
 * word a line, with its description after a tab, and a last line with the directive.
 */

/** cobra's ShellCompDirectiveNoFileComp: no names of files. */
const NO_FILES = 4;
const FILES = 0;
/** cobra's ShellCompDirectiveNoSpace: the word goes on. */
const NO_SPACE = 2;
/** Options whose value is a file. */
const FILE_OPTIONS = ["kubeconfig", "filename"];
/** Options whose value is a list with commas. */
const LIST_OPTIONS = ["contexts"];

type Word = readonly [word: string, description: string];

/** Names to offer; `before`: the words before the cursor, which may say in which cluster. */
export type LookUp = (offer: Offer, before: readonly string[]) => Promise<readonly string[]>;

/** `words`: those before the cursor; the last is the one at it, perhaps empty. */
export async function completions(
  words: readonly string[],
  commands: readonly CommandSpec[],
  lookUp: LookUp,
): Promise<string> {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const spec = commands.find(({ name }) => before.includes(name));
  const options = [...(spec?.options ?? []), ...GLOBAL_OPTIONS];
  const asked = optionAt(before.at(-1) ?? "", options);
  if (asked?.value !== undefined) {
    const offered = await offeredBy(asked, before.slice(0, -1), lookUp);
    return answer(LIST_OPTIONS.includes(asked.name) ? afterLast(current, offered) : offered, current, asked);
  }
  if (current.startsWith("-")) {
    const names = options.map((option): Word => [`--${option.name}`, option.summary]);
    return answer(names, current);
  }
  if (spec === undefined) return answer([...commands.map(wordOf), ["version", "version of this program"]], current);
  return answer(await offeredBy(spec, before, lookUp), current);
}

async function offeredBy(
  { words, offers }: Pick<CommandSpec, "words" | "offers">,
  before: readonly string[],
  lookUp: LookUp,
): Promise<readonly Word[]> {
  const names = words ?? (offers === undefined ? [] : await lookUp(offers, before));
  return names.map((name) => [name, ""]);
}

/** The words as the next item of a list, without those that it has. */
function afterLast(list: string, words: readonly Word[]): readonly Word[] {
  const items = list.split(",").slice(0, -1);
  const start = items.map((item) => `${item},`).join("");
  return words.filter(([word]) => !items.includes(word)).map(([word, text]) => [start + word, text]);
}

function wordOf({ name, summary }: CommandSpec): Word {
  return [name, summary];
}

function optionAt(word: string, options: readonly OptionSpec[]): OptionSpec | undefined {
  return options.find(({ name, short }) => word === `--${name}` || (short !== undefined && word === `-${short}`));
}

function answer(words: readonly Word[], current: string, option?: OptionSpec): string {
  const lines = words
    .filter(([word]) => word.startsWith(current))
    .map(([word, description]) => (description === "" ? `${word}\n` : `${word}\t${description}\n`));
  const isOpen = lines.length === 1 && lines[0]?.endsWith("=\n") === true;
  const directive =
    option !== undefined && FILE_OPTIONS.includes(option.name) ? FILES : NO_FILES + (isOpen ? NO_SPACE : 0);
  return `${lines.join("")}:${directive}\n`;
}

/** Who presses a key waits no longer for a cluster. */
const TIMEOUT_MS = 3_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Names for completion. None where they can't be read: a shell has no place for an error. */
export async function namesFor(offer: Offer, before: readonly string[], env: Environment): Promise<readonly string[]> {
  const options = optionsIn(before);
  try {
    if (offer === "namespaces") return await namesInCluster(RESOURCES.namespaces, options, env);
    if (offer === "pools") return await namesInCluster(MAC_POOLS, options, env);
    if (offer === "machines") return await namesInCluster(VIRTUAL_MACHINES, options, env);
    if (offer === "networks") return await namesInCluster(NETWORK_ATTACHMENT_DEFINITIONS, options, env);
    return (await kubeconfigNames(env, options.kubeconfig))[offer];
  } catch {
    return [];
  }
}

async function namesInCluster(
  resource: Resource<KubeObject>,
  options: Options,
  env: Environment,
): Promise<readonly string[]> {
  const { context, namespace } = options;
  await using cluster = await OpenCluster.open({ env, options, context, now: Date.now, onObjectsOnly: () => {} });
  const where = resource.namespaced ? { namespace: namespace ?? cluster.defaultNamespace } : {};
  const { items } = await cluster.client.list(resource, { ...where, managedFields: false, timeoutMs: TIMEOUT_MS });
  return items.flatMap(({ metadata }) => metadata.name ?? []);
}

/** Of a line that is not complete: those that can be read. */
function optionsIn(before: readonly string[]): Options {
  try {
    return parseCommandLine(before, COMMANDS).options;
  } catch (error) {
    if (error instanceof UsageError) return parseCommandLine([]).options;
    throw error;
  }
}
