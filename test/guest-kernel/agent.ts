/** Runs in the guest: does what the test asks for, until the console is closed. */

import { rmSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { type Holder, THIS_MACHINE } from "../netns/machine.ts";
import { ANSWER_MARK, type Ask, READY_MARK, type Reply, readMessage, writeMessage } from "./exchange.ts";

const [, , shared = ""] = process.argv;
const holders = new Map<number, Holder>();

async function answer(ask: Ask): Promise<Reply> {
  if (ask.do === "run") return { outcome: await THIS_MACHINE.run(ask.argv, Buffer.from(ask.input, "base64")) };
  if (ask.do === "end") {
    await holders.get(ask.pid)?.end();
    holders.delete(ask.pid);
    return { pid: ask.pid };
  }
  const holder = await THIS_MACHINE.hold(ask.argv);
  if (holder !== undefined) holders.set(holder.pid, holder);
  return { pid: holder?.pid };
}

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const number = Number(line);
    const ask = readMessage<Ask>(shared, "ask", number);
    rmSync(path.join(shared, `ask-${number}.json`));
    writeMessage(shared, "reply", number, await answer(ask).catch((error) => ({ failure: String(error) })));
    console.log(`${ANSWER_MARK}${number}`);
  })
  .on("close", () => process.exit(0));
console.log(READY_MARK);
