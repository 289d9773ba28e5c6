/** What was typed after `kubectl macpool`, before anything is done with it. */

export const OUTPUTS = ["table", "wide", "json", "yaml", "name"] as const;
export type Output = (typeof OUTPUTS)[number];

export interface Options {
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
  readonly output: Output;
  readonly noHeaders: boolean;
  readonly context: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly help: boolean;
}

export interface CommandLine {
  /** Empty when only options were given. */
  readonly command: string;
  readonly args: readonly string[];
  readonly options: Options;
}

/** Something that the user typed wrong; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const VALUE_OPTIONS: Readonly<Record<string, "namespace" | "output" | "context" | "kubeconfig">> = {
  "-n": "namespace",
  "--namespace": "namespace",
  "-o": "output",
  "--output": "output",
  "--context": "context",
  "--kubeconfig": "kubeconfig",
};

const SWITCHES: Readonly<Record<string, "allNamespaces" | "noHeaders" | "help">> = {
  "-A": "allNamespaces",
  "--all-namespaces": "allNamespaces",
  "--no-headers": "noHeaders",
  "-h": "help",
  "--help": "help",
};

/** Options may stand anywhere; `-ojson`, `-o=json`, `--output=json` and `--output json` are the same. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const values: Partial<Record<"namespace" | "output" | "context" | "kubeconfig", string>> = {};
  const switches = { allNamespaces: false, noHeaders: false, help: false };
  const words: string[] = [];
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") {
      words.push(...rest.splice(0));
    } else if (!word.startsWith("-") || word === "-") {
      words.push(word);
    } else {
      const { name, value } = splitOption(word);
      const valueOption = VALUE_OPTIONS[name];
      const option = SWITCHES[name];
      if (valueOption !== undefined) values[valueOption] = value ?? rest.shift() ?? missingValue(name);
      else if (option !== undefined && value === undefined) switches[option] = true;
      else throw new UsageError(`unknown option ${word}: see kubectl macpool --help`);
    }
  }
  const output = values.output ?? "table";
  if (!isOutput(output))
    throw new UsageError(`unknown output ${JSON.stringify(output)}: use one of ${OUTPUTS.join(", ")}`);
  const [command = "", ...args] = words;
  const { namespace, context, kubeconfig } = values;
  return { command, args, options: { ...switches, output, namespace, context, kubeconfig } };
}

function splitOption(word: string): { name: string; value: string | undefined } {
  const equals = word.indexOf("=");
  if (equals > 0) return { name: word.slice(0, equals), value: word.slice(equals + 1) };
  const short = word.slice(0, 2);
  if (!word.startsWith("--") && word.length > 2 && VALUE_OPTIONS[short] !== undefined) {
    return { name: short, value: word.slice(2) };
  }
  return { name: word, value: undefined };
}

function isOutput(text: string): text is Output {
  return (OUTPUTS as readonly string[]).includes(text);
}

function missingValue(option: string): never {
  throw new UsageError(`option ${option} needs a value: see kubectl macpool --help`);
}
