/** The conditions Available, Progressing and Degraded of an outcome, always all three. Texts are interface facts. Pure. */

import type { ComponentStatus } from "../../api/network-addons-config.ts";
import type { ComponentOutcome, Outcome, Removing, StandingBack } from "./outcome.ts";
import { AWAITED } from "./reasons.ts";
import type { Rollout } from "./rollout.ts";

export interface Verdict {
  readonly type: "Available" | "Progressing" | "Degraded" | typeof STANDING_BACK;
  readonly status: "True" | "False";
  readonly reason?: string;
  readonly message?: string;
}

/** Reason of Progressing while the configuration itself can't be applied. */
const INVALID_CONFIGURATION = "InvalidConfiguration";

/** Reason while somebody else does the same work. */
export const ANOTHER_OPERATOR = "AnotherOperator";

/** A condition beside the three, which are those of the operator that is in charge. */
export const STANDING_BACK = "StandingBack";

export function verdicts(outcome: Exclude<Outcome, StandingBack>): Verdict[] {
  if (outcome.kind === "refused") return configurationFailure(outcome.reason, outcome.message);
  if (outcome.kind === "removing") return removal(outcome);
  const { components, removalFailures } = outcome;

  const workloads = components.flatMap(({ state }) => (state.kind === "deployed" ? state.workloads : []));
  const troubled = workloads.filter((workload) => workload.phase === "failing" || workload.phase === "missing");
  const failed = components.flatMap(({ name, state }) => (state.kind === "failed" ? [{ name, ...state }] : []));
  const [firstFailure] = failed;
  if (firstFailure !== undefined) {
    const texts = [...failed.map(({ name, message }) => `${name}: ${message}`), ...troubled.flatMap(line)];
    const failure = configurationFailure(firstFailure.reason, texts.join("\n"));
    const progress = progressing(workloads);
    const isRight = failed.every(({ reason }) => AWAITED.has(reason));
    if (!isRight || progress.status === "False") return failure;
    return failure.map((verdict) => (verdict.type === progress.type ? progress : verdict));
  }
  if (removalFailures.length > 0) return configurationFailure("FailedToDeleteObjects", removalFailures.join("\n"));

  const [firstTroubled] = troubled;
  if (firstTroubled !== undefined) {
    return [
      { type: "Degraded", status: "True", reason: firstTroubled.reason, message: lines(troubled) },
      progressing(workloads),
      {
        type: "Available",
        status: "False",
        reason: "Failing",
        message: "Some problems occurred while deploying components' pods",
      },
    ];
  }
  const degraded: Verdict = { type: "Degraded", status: "False" };
  const progress = progressing(workloads);
  if (progress.status === "True") {
    return [
      degraded,
      progress,
      { type: "Available", status: "False", reason: "Startup", message: "Configuration is in process" },
    ];
  }
  const notes = notesOf(workloads);
  return [
    degraded,
    progress,
    { type: "Available", status: "True", ...(notes.length === 0 ? {} : { message: notes.join("\n") }) },
  ];
}

/** One row for each component that is on or being removed. */
export function componentRows(components: readonly ComponentOutcome[]): ComponentStatus[] {
  return components.map(row);
}

function row(component: ComponentOutcome): ComponentStatus {
  const { hostPaths = [] } = component;
  return { ...phaseOf(component), ...(hostPaths.length === 0 ? {} : { hostPaths: [...hostPaths] }) };
}

function phaseOf({ name, state }: ComponentOutcome): ComponentStatus {
  if (state.kind === "failed") return { name, phase: "Degraded", reason: state.reason, message: state.message };
  if (state.kind === "removing") return { name, phase: "Removing", reason: "Removing", message: state.message };
  const troubled = state.workloads.filter(({ phase }) => phase === "failing" || phase === "missing");
  const [first] = troubled;
  if (first !== undefined && "reason" in first) {
    return { name, phase: "Degraded", reason: first.reason, message: lines(troubled) };
  }
  const deploying = deployingText(state.workloads);
  if (deploying !== undefined) return { name, phase: "Progressing", reason: "Deploying", message: deploying };
  const notes = notesOf(state.workloads);
  return { name, phase: "Available", ...(notes.length === 0 ? {} : { message: notes.join("\n") }) };
}

function notesOf(workloads: readonly Rollout[]): string[] {
  return workloads.flatMap((workload) =>
    workload.phase === "ready" && workload.note !== undefined ? [workload.note] : [],
  );
}

function progressing(workloads: readonly Rollout[]): Verdict {
  const message = deployingText(workloads);
  if (message === undefined) return { type: "Progressing", status: "False" };
  return { type: "Progressing", status: "True", reason: "Deploying", message };
}

/** What rolls out, and what nodes need. Undefined where nothing rolls out. */
function deployingText(workloads: readonly Rollout[]): string | undefined {
  const rolling = workloads.filter(({ phase }) => phase === "rolling");
  return rolling.length === 0 ? undefined : [lines(rolling), ...notesOf(workloads)].join("\n");
}

function removal({ waiting, failures }: Removing): Verdict[] {
  if (failures.length > 0) return configurationFailure("FailedToDeleteObjects", failures.join("\n"));
  const message = [...waiting].map(([component, what]) => `${component}: ${what}`).join("\n");
  return [
    { type: "Degraded", status: "False" },
    { type: "Progressing", status: "True", reason: "Removing", message },
    { type: "Available", status: "False", reason: "Removing", message: "The configuration is being deleted" },
  ];
}

/** `isReported`: the operator in charge says itself how things are. */
export function standingBack(message: string, isReported: boolean): Verdict[] {
  const standing: Verdict = { type: STANDING_BACK, status: "True", reason: ANOTHER_OPERATOR, message };
  if (isReported) return [standing];
  const idle = "Nothing is changed while another operator is in charge";
  return [
    { type: "Degraded", status: "True", reason: ANOTHER_OPERATOR, message },
    { type: "Progressing", status: "False", reason: ANOTHER_OPERATOR, message: idle },
    standing,
  ];
}

function configurationFailure(reason: string, message: string): Verdict[] {
  return [
    { type: "Degraded", status: "True", reason, message },
    {
      type: "Progressing",
      status: "False",
      reason: INVALID_CONFIGURATION,
      message: "Human interaction is needed, please fix the desired configuration",
    },
    { type: "Available", status: "False", reason: "Failing", message: "Unable to apply desired configuration" },
  ];
}

function lines(workloads: readonly Rollout[]): string {
  return workloads.flatMap(line).join("\n");
}

function line(workload: Rollout): string[] {
  if (workload.phase === "ready") return [];
  if (workload.phase !== "failing") return [workload.message];
  return [`${workload.message.replace(/\.$/, "")}. ${workload.advice}`];
}
