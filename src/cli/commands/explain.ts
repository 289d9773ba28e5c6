import type { OwnerStoryView, StoryEntryView } from "../../mac-pool/inspection/views.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { oneArgument, UsageError } from "../command-line.ts";
import type { OwnerRef } from "../doors/door.ts";
import { parseOwner } from "../owner-ref.ts";
import { type Column, formatTable } from "../table.ts";
import { painted, type Terminal, wrapped } from "../terminal.ts";
import { localTime, spanInWords } from "../time-text.ts";
import { formatViews, ownerNameOf } from "../views-text.ts";

/** From here on, what happened stands beside its time. */
const WIDE_ENOUGH = 72;
const MAC_IN_TEXT = /\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/;

export const explain: CommandSpec = {
  name: "explain",
  args: "VM",
  summary: "the addresses of a VM or pod, and why it was refused",
  details: [
    "VM is NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME with vm, vmi or pod. Ends with 1 where it was refused last.",
  ],
  run: async (input) => {
    const { line, terminal, nowMs } = input;
    const wanted = oneArgument(line, "the name of a VM, a VMI or a pod");
    const namespace = await input.namespace();
    if (namespace === undefined && !wanted.includes("/")) {
      throw new UsageError("explain needs a namespace: write NAMESPACE/NAME, or -n in place of -A");
    }
    const owner = parseOwner(wanted, namespace ?? "");
    const story = await firstOf(
      owner.kinds.map((kind) => ({ ...owner, kind })),
      input,
    );
    if (story === undefined) {
      const where = `${owner.namespace}/${owner.name}`;
      const stderr = `no VM, VMI or pod ${where} has an address or a refusal: correct its name or namespace`;
      return { stdout: "", stderr, exitCode: 1 };
    }
    const formatted = formatViews(line, story, [ownerNameOf(story)]);
    return { stdout: formatted ?? describe(story, terminal, nowMs), exitCode: refusalOf(story) === undefined ? 0 : 1 };
  },
};

async function firstOf(owners: readonly OwnerRef[], { ask }: CommandInput): Promise<OwnerStoryView | undefined> {
  for (const { kind, namespace, name } of owners) {
    const story = await ask((door) => door.owner({ kind, namespace, name }));
    if (story !== undefined) return story;
  }
  return undefined;
}

/** The last thing that happened to it, where that was a refusal. */
function refusalOf({ story }: OwnerStoryView): StoryEntryView | undefined {
  return story[0]?.what === "refused" ? story[0] : undefined;
}

function describe(story: OwnerStoryView, terminal: Terminal, nowMs: number): string {
  const { kind, namespace, name, node, pod, exists, interfaces } = story;
  const who = `${kind} ${namespace}/${name}`;
  const refusal = refusalOf(story);
  const events = story.story.filter((entry) => entry !== refusal);
  const runs = node === undefined ? "is not running" : `runs on ${node}, pod ${pod}`;
  const state = exists ? `${who} ${runs}\n` : `${who} does not exist\n`;
  return [
    refusal === undefined ? state : `${refused(who, refusal, terminal, nowMs)}${exists ? `\n${state}` : ""}`,
    ...(interfaces.length === 0 ? [] : [interfaceTable(interfaces, terminal)]),
    ...(events.length === 0 ? [] : [`History, newest first\n${history(events, terminal)}`]),
    ...(story.partial.length === 0
      ? []
      : [`Replicas that did not answer: ${story.partial.join(", ")}. Their refusals are missing.\n`]),
  ].join("\n");
}

function refused(who: string, { at, message }: StoryEntryView, terminal: Terminal, nowMs: number): string {
  const [mac] = MAC_IN_TEXT.exec(message) ?? [];
  const holder = mac === undefined ? [] : [`kubectl macpool find ${mac} shows the holder`];
  const todo = [...holder, "kubectl macpool check MAC says whether another address would be accepted"];
  const head = `${who} was ${painted(terminal, "red", "refused")} ${spanInWords(nowMs - Date.parse(at))} ago:\n`;
  return `${head}${wrapped(terminal, message, 2)}What you can do\n${todo.map((text) => `  - ${text}\n`).join("")}`;
}

type Interface = OwnerStoryView["interfaces"][number];

function interfaceTable(interfaces: readonly Interface[], { columns: width }: Terminal): string {
  const columns: Column<Interface>[] = [
    { header: "INTERFACE", cell: (row) => row.interface },
    { header: "MAC", cell: ({ mac }) => mac },
    { header: "PHASE", cell: ({ phase = "no claim" }) => phase },
    { header: "ORIGIN", cell: ({ origin = "" }) => origin, drop: 2 },
    { header: "NETWORK", cell: ({ network = "" }) => network, cut: true },
    { header: "SINCE", cell: ({ since }) => (since === undefined ? "" : localTime(Date.parse(since))), drop: 1 },
  ];
  return formatTable(columns, interfaces, { noHeaders: false, columns: width });
}

function history(entries: readonly StoryEntryView[], terminal: Terminal): string {
  return entries
    .map(({ at, what, message }) => {
      const event = what === "refused" ? painted(terminal, "red", what) : what;
      const head = `  ${localTime(Date.parse(at))}  ${event}`;
      if ((terminal.columns ?? WIDE_ENOUGH) < WIDE_ENOUGH) return `${head}\n${wrapped(terminal, message, 4)}`;
      return `${head}${" ".repeat(Math.max(1, 11 - what.length))}${wrapped(terminal, message, 34).trimStart()}`;
    })
    .join("");
}
