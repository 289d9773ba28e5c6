/** Ends calls at their system calls, one after the other, and looks at what is left once somebody finished the work. */

import { expect } from "vitest";
import { shareOf } from "../support/share.ts";
import { add, type CniCall, cni, del } from "./cni-call.ts";
import { killedAt, type SystemCall, systemCallsOf } from "./killed-call.ts";

/**
 * Otherwise: a share of the calls that change something outside the process, because what is between two of them leaves
 * nothing more behind; on layer 2 of all of them, else of each third. With KILL_AT_EVERY_CALL=1 it takes some minutes.
 */
export const EVERY_CALL = process.env.KILL_AT_EVERY_CALL === "1";

const SAMPLED = 3;
const FEWEST_CALLS = 20;

export interface Killable {
  readonly call: CniCall;
  readonly config: object;
  /** All that a call could leave. */
  state(): Promise<string>;
}

export async function pointsOf(
  command: string,
  { call, config }: Omit<Killable, "state">,
): Promise<readonly SystemCall[]> {
  const calls = await systemCallsOf(command, call, config);
  expect(calls.length).toBeGreaterThan(FEWEST_CALLS);
  if (EVERY_CALL) return calls;
  const changing = calls.filter(({ changes }) => changes);
  return shareOf("ipam" in config ? changing.filter((_, at) => at % SAMPLED === 0) : changing);
}

/** Where to kill, from a run after a first one that made the folders. There is no attachment afterwards. */
export async function killPoints(
  command: "ADD" | "DEL",
  killable: Omit<Killable, "state">,
): Promise<readonly SystemCall[]> {
  const { call, config } = killable;
  await add(call, config);
  if (command === "ADD") await del(call, config);
  const points = await pointsOf(command, killable);
  await del(call, config);
  return points;
}

const where = (command: string, { name, nth }: SystemCall): string => `${command} killed at ${name} ${nth}`;

export async function expectAddRemovable(killable: Killable): Promise<void> {
  const { call, config } = killable;
  const points = await killPoints("ADD", killable);
  const before = await killable.state();
  for (const point of points) {
    await killedAt(point, "ADD", call, config);
    await del(call, config);
    expect(await killable.state(), where("ADD", point)).toBe(before);
  }
}

export async function expectDelFinishable(killable: Killable): Promise<void> {
  const { call, config } = killable;
  const points = await killPoints("DEL", killable);
  const before = await killable.state();
  for (const point of points) {
    await add(call, config);
    await killedAt(point, "DEL", call, config);
    await del(call, config);
    expect(await killable.state(), where("DEL", point)).toBe(before);
  }
}

/** What a killed call that only asks something leaves is nothing. */
export async function expectNothingChanged(command: "CHECK" | "STATUS", killable: Killable): Promise<void> {
  const { call, config } = killable;
  const points = await pointsOf(command, killable);
  const before = await killable.state();
  for (const point of points) {
    await killedAt(point, command, call, config);
    expect(await killable.state(), where(command, point)).toBe(before);
  }
  expect(await cni(command, call, config)).toMatchObject({ code: 0, stdout: "" });
}

/** What lets the reaper see a pod that is gone, and brings one back. */
export interface Reapable extends Killable {
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
  reap(): Promise<number>;
}

export async function expectReaped(reapable: Reapable): Promise<void> {
  const { call, config } = reapable;
  const points = [
    ...(await killPoints("ADD", reapable)).map((one) => ["ADD", one] as const),
    ...(await killPoints("DEL", reapable)).map((one) => ["DEL", one] as const),
  ];
  await reapable.end();
  const before = await reapable.state();
  for (const [command, point] of points) {
    await reapable.begin();
    if (command === "DEL") await add(call, config);
    await killedAt(point, command, call, config);
    await reapable.end();
    expect(await reapable.reap()).toBe(0);
    expect(await reapable.state(), where(command, point)).toBe(before);
  }
}
