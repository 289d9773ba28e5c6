import { HOST_CONFLICT_ADVICE } from "../../api/host-interfaces.ts";
import { STEPS, type Step, type Way } from "../../api/way.ts";
import type { HistoryEntryView } from "../../mac-pool/inspection/rest/views.ts";
import type { KnownHistory, KnownInterface } from "../backends/pool-backend.ts";
import { hostText } from "../claim-text.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { oneArgument, UsageError } from "../command-line.ts";
import { namedOwner, OWNER_FORMS, ownersNamed } from "../owner-argument.ts";
import { pastable } from "../pasted-commands.ts";
import { localTime, spanInWords } from "../quantities.ts";
import { type Column, formatTable } from "../table.ts";
import { beside, type Colour, painted, type Terminal, wrapped } from "../terminal.ts";
import { formatViews, ownerNameOf } from "../views-text.ts";
import { explained } from "../way/explained.ts";

const COLOURS: Readonly<Record<Step["state"], Colour>> = { ok: "green", wrong: "red", unknown: "yellow" };
const MAX_STATE = "unknown".length;
const MAX_STEP = Math.max(...STEPS.map(({ length }) => length));
const UNKNOWN = "What was refused, and interfaces without a claim, are not known without the service.";
const UNKNOWN_HOSTS = "Whether a node has one of these addresses is not known: you may not read NodeMACs.";
/** Most owners of VMs may not read pools. */
const SHOW_POOLS = "ask an administrator to add a range to the pool; kubectl macpool status shows them how full it is";
/** Refusals of an address that something else has. */
const HELD_BY_OTHERS: readonly string[] = [
  "MACPOOL_CONFLICT",
  "MACPOOL_SHARED_TOO_OFTEN",
  "MACPOOL_RUNNING",
  "MACPOOL_HOST_ADDRESS",
];

export const explain: CommandSpec = {
  name: "explain",
  args: "VM",
  summary: "what a VM or pod has, and why its network does not work",
  details: [
    `VM is ${OWNER_FORMS} with vm, vmi or pod.`,
    "Goes the way of each interface, from its request to its frames, up to the first thing that is wrong, and says what to do. " +
      "What you may not see is no reason to stop. Ends with 1 where the VM or pod was refused last, or no pool knows it.",
  ],
  examples: ["kubectl macpool explain web -n lab", "kubectl macpool explain vmi/lab/web -o json"],
  offers: "machines",
  run: async (input) => {
    const { line, terminal } = input;
    const wanted = namedOwner(oneArgument(line, "the name of a VM, a VMI or a pod, as KIND/NAME"));
    const namespace = wanted.namespace ?? (await input.namespace());
    if (namespace === undefined) {
      throw new UsageError("explain needs a namespace: write NAMESPACE/NAME, or -n in place of -A");
    }
    const refs = ownersNamed(wanted, namespace);
    const { owner, way, isKnown, knowsRefusals } = await explained(refs, input);
    if (owner === undefined) {
      const what = `no VM, VMI or pod ${refs[0]?.namespace}/${refs[0]?.name} has an address`;
      const stderr = knowsRefusals
        ? `${what} or a refusal: correct its name or namespace`
        : `${what}; whether one was refused is not known without the service`;
      return { stdout: "", stderr, exitCode: 1, emptyIn: refs[0]?.namespace };
    }
    const formatted = formatViews(line, { ...owner, way }, [ownerNameOf(owner)]);
    const stdout =
      formatted ?? describe(owner, way, input) + (knowsRefusals ? "" : `\n${wrapped(terminal, UNKNOWN, 0)}`);
    return { stdout, exitCode: isKnown && refusalOf(owner) === undefined ? 0 : 1 };
  },
};

/** The last thing that happened to it, where that was a refusal. */
function refusalOf({ history }: KnownHistory): HistoryEntryView | undefined {
  return history[0]?.what === "refused" ? history[0] : undefined;
}

function describe(owner: KnownHistory, way: readonly Way[], input: CommandInput): string {
  const { terminal } = input;
  const { kind, namespace, name, exists, interfaces } = owner;
  const who = `${kind} ${namespace}/${name}`;
  const refusal = refusalOf(owner);
  const events = owner.history.filter((entry) => entry !== refusal);
  const state = stateOf(who, owner);
  return [
    refusal === undefined ? state : `${refused(owner, refusal, input)}${exists === false ? "" : `\n${state}`}`,
    ...way.map((one) => describeWay(one, terminal)),
    ...(interfaces.length === 0 ? [] : [interfaceTable(interfaces, terminal)]),
    ...hostTexts(notToldBy(way, interfaces), terminal),
    ...(events.length === 0 ? [] : [`History, newest first\n${history(events, terminal)}`]),
    ...(owner.partial.length === 0
      ? []
      : [
          wrapped(
            terminal,
            `Replicas that did not answer: ${owner.partial.join(", ")}. Their refusals are missing.`,
            0,
          ),
        ]),
  ].join("\n");
}

function stateOf(who: string, { exists, node, pod, notRunningYet }: KnownHistory): string {
  if (exists === false) return `${who} does not exist\n`;
  if (node === null) {
    const what = exists ? "Where it runs" : "Whether it exists, and where it runs,";
    return `${who}\n${what} is not known without the service.\n`;
  }
  if (node !== undefined) return `${who} ${notRunningYet ? "is starting" : "runs"} on ${node}, pod ${pod}\n`;
  return exists
    ? `${who} is not running\n`
    : `${who} is not running\nWhether it exists is not known without the service.\n`;
}

/** Interfaces whose way does not say whether a node has the address too. */
function notToldBy(way: readonly Way[], interfaces: readonly KnownInterface[]): readonly KnownInterface[] {
  const told = way.flatMap(({ steps }) => steps.filter(({ step }) => step === "alone").map(({ text }) => text));
  return interfaces.filter(({ mac }) => !told.some((text) => text.includes(mac)));
}

/** About addresses that nodes have too. */
function hostTexts(interfaces: readonly KnownInterface[], terminal: Terminal): readonly string[] {
  const known = interfaces.filter(({ hostAddress }) => hostAddress !== null);
  if (known.length < interfaces.length) return [wrapped(terminal, UNKNOWN_HOSTS, 0)];
  const texts = known.map((one) => hostText(one, terminal, HOST_CONFLICT_ADVICE)).filter((text) => text !== "");
  return texts.length === 0 ? [] : [texts.join("")];
}

function refused(
  owner: KnownHistory,
  { at, code = "", mac, message, object = owner }: HistoryEntryView,
  { line: { options }, terminal, nowMs }: CommandInput,
): string {
  const isHeld = mac !== undefined && HELD_BY_OTHERS.includes(code);
  const holder = isHeld ? [`kubectl macpool find ${mac} -n ${owner.namespace} shows the holder`] : [];
  const isWished = mac !== undefined || code === "MACPOOL_INVALID_MAC";
  const todo = [...holder, ...adviceFor(code, isWished, owner.namespace)].map((text) => pastable(text, options));
  const who = `${object.kind} ${owner.namespace}/${object.name}`;
  const head = `${who} was ${painted(terminal, "red", "refused")} ${spanInWords(nowMs - Date.parse(at))} ago:\n`;
  const can =
    todo.length === 0
      ? ""
      : `What you can do\n${todo.map((text) => `  - ${wrapped(terminal, text, 4).trimStart()}`).join("")}`;
  return `${head}${wrapped(terminal, message, 2)}${can}`;
}

/** `isWished`: whether the object asked for an address. */
function adviceFor(code: string, isWished: boolean, namespace: string): readonly string[] {
  if (code === "MACPOOL_FULL") return [SHOW_POOLS];
  if (!isWished) return [];
  return [`kubectl macpool check MAC -n ${namespace} says whether another address would be accepted`];
}

function interfaceTable(interfaces: readonly KnownInterface[], { columns: width }: Terminal): string {
  const columns: Column<KnownInterface>[] = [
    { header: "INTERFACE", cell: (row) => row.interface },
    { header: "MAC", cell: ({ mac }) => mac },
    { header: "PHASE", cell: ({ phase = "no claim" }) => phase },
    { header: "ORIGIN", cell: ({ origin = "" }) => origin, drop: 2 },
    { header: "NETWORK", cell: ({ network = "" }) => network, cut: true },
    { header: "SINCE", cell: ({ since }) => (since === undefined ? "" : localTime(Date.parse(since))), drop: 1 },
  ];
  return formatTable(columns, interfaces, { noHeaders: false, columns: width });
}

function describeWay({ interface: name, steps }: Way, terminal: Terminal): string {
  const lines = steps.map(({ step, state, text, remedy }) => {
    const shown = `  ${painted(terminal, COLOURS[state], state)}${" ".repeat(MAX_STATE - state.length)}  ${step}`;
    const head = { text: shown, width: MAX_STATE + step.length + 4 };
    return beside(terminal, head, remedy === undefined ? [text] : [text, `-> ${remedy}`], MAX_STATE + MAX_STEP + 6);
  });
  return `${painted(terminal, "bold", name)}, from request to frame\n${lines.join("")}`;
}

function history(entries: readonly HistoryEntryView[], terminal: Terminal): string {
  return entries
    .map(({ at, what, message: said, object }) => {
      const message = object === undefined ? said : `${object.kind} ${object.name}: ${said}`;
      const event = what === "refused" ? painted(terminal, "red", what) : what;
      const time = localTime(Date.parse(at));
      const head = { text: `  ${time}  ${event}`, width: time.length + what.length + 4 };
      return beside(terminal, head, [message], 34);
    })
    .join("");
}
