import type { EventEmitter } from "node:events";
import { Problem } from "../queries/problem.ts";

/** Fifty pages may ask at one moment. The longest answer has 1.5 MB, which a client that reads slowly keeps in memory. */
const MAX_ANSWERS = 64;
const MAX_OF_USER = 32;

/**
 * The answers under way. Only readers who have said who they are take places: strangers, whose refusals are short, can't
 * keep readers out.
 */
export class AnswerPlaces {
  readonly #users = new Map<EventEmitter, string>();

  /** Keeps a place until the response is closed. Throws a Problem when none is free. */
  take(response: EventEmitter, username: string): void {
    const ofUser = [...this.#users.values()].filter((other) => other === username).length;
    if (this.#users.size >= MAX_ANSWERS || ofUser >= MAX_OF_USER) {
      const whose = ofUser >= MAX_OF_USER ? ` ${ofUser} of them are for you.` : "";
      throw new Problem("MACPOOL_BUSY", `Too many answers are under way.${whose} Try again in a second.`);
    }
    this.#users.set(response, username);
    response.once("close", () => this.#users.delete(response));
  }
}
