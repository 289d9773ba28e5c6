import { parseArgs } from "node:util";

/** The command line after `kubectl macpool`. */

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

/** Wrong usage; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** `-o=json`, as kubectl takes it; parseArgs knows `-ojson` and `-o json`. */
const SHORT_WITH_EQUALS = /^(-[no])=/;

/** Options may stand anywhere; `-ojson`, `-o=json`, `--output=json` and `--output json` are the same. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const { values, positionals } = parsed(argv.map((word) => word.replace(SHORT_WITH_EQUALS, "$1")));
  const { output = "table", namespace, context, kubeconfig } = values;
  if (!isOutput(output)) {
    throw new UsageError(`unknown output ${JSON.stringify(output)}: use one of ${OUTPUTS.join(", ")}`);
  }
  const [command = "", ...args] = positionals;
  const switches = {
    allNamespaces: values["all-namespaces"] ?? false,
    noHeaders: values["no-headers"] ?? false,
    help: values.help ?? false,
  };
  return { command, args, options: { ...switches, output, namespace, context, kubeconfig } };
}

function parsed(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        namespace: { type: "string", short: "n" },
        "all-namespaces": { type: "boolean", short: "A" },
        output: { type: "string", short: "o" },
        "no-headers": { type: "boolean" },
        context: { type: "string" },
        kubeconfig: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    const [sentence] = (error as Error).message.split(/\.?(?:\n| To specify)/);
    throw new UsageError(`${sentence}: see kubectl macpool --help`);
  }
}

function isOutput(text: string): text is Output {
  return (OUTPUTS as readonly string[]).includes(text);
}
