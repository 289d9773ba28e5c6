import { type Colour, painted, type Terminal, wrapped } from "../terminal.ts";
import { STEPS, type Step } from "./step.ts";

/** The ways of the interfaces of one object, for people. */

export interface Way {
  readonly interface: string;
  readonly steps: readonly Step[];
}

const COLOURS: Readonly<Record<Step["state"], Colour>> = { ok: "green", wrong: "red", unknown: "yellow" };
const MAX_STATE = "unknown".length;
const MAX_STEP = Math.max(...STEPS.map(({ length }) => length));
const INDENT = `  ${" ".repeat(MAX_STATE)}  ${" ".repeat(MAX_STEP)}  `.length;
/** From here on, the text stands beside its step. */
const WIDE_ENOUGH = 72;

export function describeWay({ interface: name, steps }: Way, terminal: Terminal): string {
  return `${painted(terminal, "bold", name)}, from request to frame\n${steps.map((step) => line(step, terminal)).join("")}`;
}

function line({ step, state, text, remedy }: Step, terminal: Terminal): string {
  const head = `  ${painted(terminal, COLOURS[state], state)}${" ".repeat(MAX_STATE - state.length)}  ${step}`;
  const isNarrow = (terminal.columns ?? WIDE_ENOUGH) < WIDE_ENOUGH;
  const indent = isNarrow ? 4 : INDENT;
  const said = wrapped(terminal, text, indent);
  const advice = remedy === undefined ? "" : wrapped(terminal, `-> ${remedy}`, indent);
  if (isNarrow) return `${head}\n${said}${advice}`;
  return `${head}${" ".repeat(MAX_STEP - step.length + 2)}${said.trimStart()}${advice}`;
}
