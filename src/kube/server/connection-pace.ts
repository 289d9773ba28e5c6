import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";

export interface PaceOptions {
  /** Connections that one client address can make at once. */
  readonly burst: number;
  /** And in each second after that. */
  readonly perSecond: number;
  /** How long one waits before it is closed. */
  readonly patienceMs: number;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

interface Waiting {
  readonly socket: Socket;
  readonly accept: () => void;
  readonly sinceMs: number;
  readonly onClose: () => void;
}

interface Client {
  credit: number;
  atMs: number;
  /** The oldest first. */
  readonly waiting: Set<Waiting>;
  /** Whether the next turn is set. */
  hasTurn: boolean;
}

const MAX_REMEMBERED = 1_024;

/**
 * How fast the connections of a client address are taken up: each costs a handshake, some milliseconds of the only thread.
 * More of them wait, unread, and the next is chosen at random. The oldest may belong to a client that has given up. If the
 * newest were next, the oldest would never be. Whoever keeps its connections notices nothing.
 */
export class ConnectionPace {
  readonly #options: PaceOptions;
  readonly #clients = new Map<string, Client>();

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Calls `accept` when it is the connection's turn, and never if it is closed before. */
  take(socket: Socket, accept: () => void): void {
    const client = this.#client(socket.remoteAddress ?? "");
    if (client.credit >= 1) {
      client.credit -= 1;
      accept();
      return;
    }
    const waiting: Waiting = {
      socket,
      accept,
      sinceMs: this.#options.clock.monotonicMs(),
      onClose: () => client.waiting.delete(waiting),
    };
    socket.on("error", ignore).on("close", waiting.onClose);
    client.waiting.add(waiting);
    if (!client.hasTurn) this.#nextTurn(client);
  }

  #nextTurn(client: Client): void {
    const { clock, perSecond } = this.#options;
    client.hasTurn = true;
    clock.after(((1 - client.credit) * 1000) / perSecond, () => {
      client.hasTurn = false;
      this.#refill(client);
      this.#closeImpatient(client);
      while (client.credit >= 1) {
        const next = this.#any(client.waiting);
        if (next === undefined) return;
        client.waiting.delete(next);
        if (next.socket.destroyed) continue;
        client.credit -= 1;
        next.socket.off("error", ignore).off("close", next.onClose);
        next.accept();
      }
      if (client.waiting.size > 0) this.#nextTurn(client);
    });
  }

  #closeImpatient(client: Client): void {
    const oldestMs = client.atMs - this.#options.patienceMs;
    for (const waiting of client.waiting) {
      if (waiting.sinceMs >= oldestMs) return;
      client.waiting.delete(waiting);
      waiting.socket.destroy();
    }
  }

  #any(waiting: ReadonlySet<Waiting>): Waiting | undefined {
    const { random = Math.random } = this.#options;
    let before = Math.floor(random() * waiting.size);
    for (const each of waiting) if (before-- === 0) return each;
    return undefined;
  }

  #client(address: string): Client {
    const { burst, clock } = this.#options;
    const known = this.#clients.get(address);
    if (known !== undefined) return this.#refill(known);
    if (this.#clients.size >= MAX_REMEMBERED) this.#forgetIdle();
    const client: Client = { credit: burst, atMs: clock.monotonicMs(), waiting: new Set(), hasTurn: false };
    this.#clients.set(address, client);
    return client;
  }

  #refill(client: Client): Client {
    const { burst, perSecond, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    client.credit = Math.min(burst, client.credit + ((nowMs - client.atMs) * perSecond) / 1000);
    client.atMs = nowMs;
    return client;
  }

  #forgetIdle(): void {
    const { burst } = this.#options;
    for (const [address, client] of this.#clients)
      if (this.#refill(client).credit === burst) this.#clients.delete(address);
  }
}

function ignore(): void {}
