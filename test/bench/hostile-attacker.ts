/**
 * Child process of the benchmark: does what each message says, `{attack, webhooks, inspection, times}`, holds its connections
 * until the next message, and says when it is done.
 */
import { Attacker } from "../mac-pool/hostile/attacker.ts";
import { ATTACKS, type Target } from "../mac-pool/hostile/attacks.ts";

export interface Order extends Target {
  readonly attack: number;
  readonly times: number;
}

let attacker = new Attacker();

process.on("message", (order: Order | "rest") => {
  attacker[Symbol.dispose]();
  attacker = new Attacker();
  if (order === "rest") return;
  const { attack, times, ...target } = order;
  void ATTACKS[attack]?.run(attacker, target, times).then(() => process.send?.("done"));
});
process.on("disconnect", () => process.exit(0));
