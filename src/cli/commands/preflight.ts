import { describeUnusable, parseMac } from "../../api/mac.ts";
import type { MacRange } from "../../api/mac-range.ts";
import { DEFAULT_NAMESPACE } from "../../api/names.ts";
import { plain } from "../backends/plain-text.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { type CommandLine, noArguments, textOptions, UsageError } from "../command-line.ts";
import { pastable } from "../pasted-commands.ts";
import { CHECKS, type CheckLine } from "../preflight/check-line.ts";
import { ClusterReader } from "../preflight/cluster-reader.ts";
import { readOthers } from "../preflight/other-clusters.ts";
import { preflight as linesOf } from "../preflight/preflight.ts";
import { readFacts } from "../preflight/preflight-facts.ts";
import { CONTEXTS_OPTION, contextsOf, randomFraction } from "../several-clusters.ts";
import { beside, type Colour, painted, type Terminal } from "../terminal.ts";
import { formatViews } from "../views-text.ts";

const COLOURS: Readonly<Record<CheckLine["state"], Colour>> = {
  ok: "green",
  do: "red",
  note: "dim",
  unchecked: "yellow",
};
const WORDS: Readonly<Record<CheckLine["state"], string>> = {
  ok: "ok",
  do: "do",
  note: "note",
  unchecked: "not checked",
};
const MAX_WORD = "not checked".length;
const MAX_CHECK = Math.max(...CHECKS.map(({ length }) => length));
const COMMAND_INDENT = 6;

export const preflight: CommandSpec = {
  name: "preflight",
  summary: "what must be done before the installation",
  details: [
    "Reads a cluster in which nothing of this product needs to be yet, and writes nothing. Each line is ok, do (before the " +
      "installation), note (worth to know, or to be done later) or not checked (with the right that is missing).",
    `-n is the namespace of the installation, ${DEFAULT_NAMESPACE} unless given. With --contexts, ranges and addresses are compared ` +
      "with those of other clusters on the same layer-2 network.",
    "Ends with 0 where nothing is to be done, with 1 where something is, and with 2 where nothing is and not everything could be " +
      "looked at.",
  ],
  examples: [
    "kubectl macpool preflight",
    "kubectl macpool preflight -n kubevirt-hyperconverged",
    "kubectl macpool preflight --range 02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff",
    "kubectl macpool preflight --contexts east,west -o json",
  ],
  options: [
    {
      name: "range",
      value: "FIRST-LAST",
      summary: "range that the pool is to have; may be repeated",
      multiple: true,
    },
    CONTEXTS_OPTION,
  ],
  run: async (input) => {
    const { line, terminal } = input;
    noArguments(line);
    const ranges = rangesOf(line);
    const contexts = contextsOf(line) ?? [];
    if (line.options.allNamespaces)
      throw new UsageError("preflight is about one namespace: write -n NAMESPACE in place of -A");
    const items = plain(await read(input, ranges, contexts));
    const toDo = items.filter(({ state }) => state === "do").length;
    const unchecked = items.filter(({ state }) => state === "unchecked").length;
    const formatted = formatViews(line, { items, total: items.length, toDo, unchecked });
    const exitCode = toDo > 0 ? 1 : unchecked > 0 ? 2 : 0;
    return {
      stdout: formatted ?? `${items.map((one) => describe(one, terminal)).join("")}\n${verdict(items, terminal)}`,
      exitCode,
    };
  },
};

async function read(
  input: CommandInput,
  ranges: readonly MacRange[],
  contexts: readonly string[],
): Promise<readonly CheckLine[]> {
  const cluster = await input.open();
  try {
    const reader = new ClusterReader(cluster.client, input.line.options.requestTimeoutMs);
    const facts = await readFacts(reader, input.onlyNamespace ?? DEFAULT_NAMESPACE);
    const { others, lines } = await readOthers(contexts, input);
    const found = linesOf(facts, { ranges, contexts, others, otherLines: lines, random: randomFraction() });
    return found.map(({ commands, ...one }) => {
      return commands === undefined
        ? one
        : { ...one, commands: commands.map((command) => pastable(command, input.line.options)) };
    });
  } catch (error) {
    throw cluster.describe(error);
  }
}

function rangesOf(line: CommandLine): readonly MacRange[] {
  return textOptions(line, "range").map((text) => {
    const parts = text.split("-");
    const half = parts.length / 2;
    // An address may have hyphens itself.
    if (half !== 1 && half !== 6)
      throw new UsageError(`--range ${JSON.stringify(text)} is not FIRST-LAST, two MAC addresses`);
    const [rangeStart, rangeEnd] = [parts.slice(0, half), parts.slice(half)].map((end) => end.join("-")) as [
      string,
      string,
    ];
    const ends = [parseMac(rangeStart), parseMac(rangeEnd)];
    const [start, end] = ends;
    const what = `--range ${JSON.stringify(text)}`;
    if (start === undefined || end === undefined) throw new UsageError(`${what} is not FIRST-LAST, two MAC addresses`);
    if (end <= start) throw new UsageError(`${what} ends before it has two addresses: write the lower one first`);
    const unusable = ends.find((mac) => mac !== undefined && describeUnusable(mac) !== undefined);
    if (unusable === undefined) return { start, end };
    throw new UsageError(`${what}: ${describeUnusable(unusable)}. Write unicast addresses`);
  });
}

function describe({ check, state, text, commands = [] }: CheckLine, terminal: Terminal): string {
  const word = WORDS[state];
  const shown = `  ${painted(terminal, COLOURS[state], word)}${" ".repeat(MAX_WORD - word.length)}  ${check}`;
  const head = { text: shown, width: MAX_WORD + check.length + 4 };
  const said = beside(terminal, head, [text], MAX_WORD + MAX_CHECK + 6);
  return `${said}${commands.map((command) => shellLines(command, terminal)).join("")}`;
}

/** A command that is longer than the line goes on in the next one, as a shell reads it. */
function shellLines(command: string, { columns }: Terminal): string {
  const margin = " ".repeat(COMMAND_INDENT);
  if (columns === undefined) return `${margin}${command}\n`;
  const lines: string[] = [];
  let line = margin;
  for (const word of command.split(" ")) {
    const isFirst = line.trim() === "";
    if (!isFirst && line.length + 1 + word.length + " \\".length > columns) {
      lines.push(`${line} \\\n`);
      line = `${margin}  ${word}`;
    } else {
      line = isFirst ? `${line}${word}` : `${line} ${word}`;
    }
  }
  return [...lines, `${line}\n`].join("");
}

function verdict(items: readonly CheckLine[], terminal: Terminal): string {
  const count = (state: CheckLine["state"]): number => items.filter((one) => one.state === state).length;
  const [toDo, notes, unchecked] = [count("do"), count("note"), count("unchecked")];
  const things = toDo === 1 ? "1 thing has" : `${toDo} things have`;
  const nothing = unchecked > 0 ? "Nothing of what could be looked at" : "Nothing";
  const first = toDo === 0 ? `${nothing} has to be done first` : `${things} to be done first`;
  const head = painted(terminal, toDo > 0 ? "red" : unchecked > 0 ? "yellow" : "green", first);
  return `${head}; ${notes} ${notes === 1 ? "note" : "notes"}, ${unchecked} not checked.\n`;
}
