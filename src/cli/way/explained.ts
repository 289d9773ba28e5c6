import { isStartingPhase } from "../../api/phase.ts";
import type { Step, Way } from "../../api/way.ts";
import { isForbidden } from "../../kube/client/api-error.ts";
import { plain } from "../backends/plain-text.ts";
import type { KnownHistory, OwnerRef, PoolBackend } from "../backends/pool-backend.ts";
import type { CommandInput } from "../command.ts";
import type { Options } from "../command-line.ts";
import { CliError } from "../faults.ts";
import { pastable } from "../pasted-commands.ts";
import type { RunningObjects } from "./fact-reader.ts";
import type { Read } from "./facts.ts";
import { CLAIMS_HIDDEN, isThere, Ways } from "./ways.ts";

/** An object, and the ways of its interfaces, as far as the user may see them. */
export interface Explained {
  /** Undefined where neither the pool knows one nor the user sees one. */
  readonly owner: KnownHistory | undefined;
  readonly way: readonly Way[];
  /** Whether the pool knows the object. */
  readonly isKnown: boolean;
  /** Whether what was refused is known. */
  readonly knowsRefusals: boolean;
}

/** The first of these objects that the pool knows, or that the user sees. Throws why they may see neither. */
export async function explained(refs: readonly OwnerRef[], input: CommandInput): Promise<Explained> {
  const { history, knowsRefusals, fault } = await askPool(refs, input);
  const ways = await Ways.open(input);
  const found = await findOwner(refs, history, ways);
  if (found === undefined) {
    if (fault !== undefined) throw fault;
    return { owner: undefined, way: [], isKnown: false, knowsRefusals };
  }
  const { owner, objects } = found;
  const way = plain(owner.exists === false ? [] : await ways.of(owner, objects, history, knowsRefusals));
  const { options } = input.line;
  return {
    owner,
    way: way.map((one) => withOptions(one, options)),
    isKnown: "unknown" in history || history.value !== undefined,
    knowsRefusals,
  };
}

function withOptions({ steps, ...way }: Way, options: Options): Way {
  const told = ({ text, remedy, ...step }: Step): Step => ({
    ...step,
    text: pastable(text, options),
    ...(remedy === undefined ? {} : { remedy: pastable(remedy, options) }),
  });
  return { ...way, steps: steps.map(told) };
}

interface PoolAnswer {
  readonly history: Read<KnownHistory>;
  readonly knowsRefusals: boolean;
  /** Why the user may not see it. */
  readonly fault?: CliError;
}

async function askPool(refs: readonly OwnerRef[], input: CommandInput): Promise<PoolAnswer> {
  let knowsRefusals = false;
  const answer = input.ask((backend) => {
    ({ knowsRefusals } = backend);
    return firstOf(refs, backend);
  });
  try {
    return { history: { value: await answer }, knowsRefusals };
  } catch (error) {
    if (!(error instanceof CliError && isForbidden(error.cause))) throw error;
    return { history: { unknown: CLAIMS_HIDDEN }, knowsRefusals, fault: error };
  }
}

/** What the pool knows, else the first object of that name that the user may see. */
async function findOwner(
  refs: readonly OwnerRef[],
  history: Read<KnownHistory>,
  ways: Ways,
): Promise<{ readonly owner: KnownHistory; readonly objects: RunningObjects } | undefined> {
  if ("value" in history && history.value !== undefined) {
    return { owner: history.value, objects: await ways.objects(history.value, history.value.pod) };
  }
  for (const ref of refs) {
    const objects = await ways.objects(ref);
    if (isThere(ref, objects)) return { owner: plain({ ...ref, ...withoutHistory(ref, objects) }), objects };
  }
  return undefined;
}

function withoutHistory({ kind }: OwnerRef, { pod, instance }: RunningObjects): Omit<KnownHistory, keyof OwnerRef> {
  const known = { exists: true, interfaces: [], history: [], partial: [] };
  if ("unknown" in pod) return { ...known, node: null };
  const { metadata, spec } = pod.value ?? {};
  if (spec?.nodeName === undefined) return known;
  const place = { node: spec.nodeName, pod: metadata?.name ?? "" };
  const object = kind === "Pod" ? pod : instance;
  const phase = object !== undefined && "value" in object ? object.value?.status?.phase : undefined;
  return { ...known, ...place, ...(isStartingPhase(phase) ? { notRunningYet: true } : {}) };
}

async function firstOf(owners: readonly OwnerRef[], backend: PoolBackend): Promise<KnownHistory | undefined> {
  for (const owner of owners) {
    const known = await backend.owner(owner);
    if (known !== undefined) return known;
  }
  return undefined;
}
