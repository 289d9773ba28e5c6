import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { ConnectionPace } from "../../../src/kube/server/connection-pace.ts";
import { ManualClock } from "../support/manual-clock.ts";

const OPTIONS = { burst: 3, perSecond: 10, patienceMs: 1_000, random: () => 0.99 };

class Arrivals {
  readonly clock = new ManualClock();
  readonly accepted: string[] = [];
  readonly closed: string[] = [];
  readonly #pace = new ConnectionPace({ ...OPTIONS, clock: this.clock });

  connect(name: string, remoteAddress = "10.0.0.1"): EventEmitter & { destroyed: boolean } {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress,
      destroyed: false,
      destroy: () => {
        socket.destroyed = true;
        this.closed.push(name);
      },
    });
    this.#pace.take(socket as unknown as Socket, () => this.accepted.push(name));
    return socket;
  }

  connectAll(names: string): void {
    for (const name of names) this.connect(name);
  }
}

describe("ConnectionPace", () => {
  it("takes up a few at once and the others one by one, any of them next", async () => {
    const arrivals = new Arrivals();
    arrivals.connectAll("abcdef");
    expect(arrivals.accepted).toEqual(["a", "b", "c"]);
    await arrivals.clock.advance(100);
    expect(arrivals.accepted.slice(3)).toEqual(["f"]);
    await arrivals.clock.advance(200);
    expect(arrivals.accepted.slice(3)).toEqual(["f", "e", "d"]);
    await arrivals.clock.advance(60_000);
    expect(arrivals.clock.pending).toBe(0);
  });

  it("counts each client address for itself", () => {
    const arrivals = new Arrivals();
    arrivals.connectAll("abcd");
    arrivals.connect("other", "10.0.0.2");
    expect(arrivals.accepted).toEqual(["a", "b", "c", "other"]);
  });

  it("spends no turn on a connection that is closed", async () => {
    const arrivals = new Arrivals();
    arrivals.connectAll("abcd");
    arrivals.connect("gone").destroyed = true;
    await arrivals.clock.advance(100);
    expect(arrivals.accepted).toEqual(["a", "b", "c", "d"]);
  });

  it("keeps nothing of a connection that is closed", async () => {
    const arrivals = new Arrivals();
    arrivals.connectAll("abc");
    const [gone, there] = [arrivals.connect("gone"), arrivals.connect("there")];
    gone.emit("close");
    await arrivals.clock.advance(100);
    expect(arrivals.accepted).toEqual(["a", "b", "c", "there"]);
    await arrivals.clock.advance(100);
    expect(arrivals.clock.pending).toBe(0);
    expect([gone, there].map((socket) => socket.listenerCount("close"))).toEqual([1, 0]);
  });

  it("closes those that have waited too long", async () => {
    const arrivals = new Arrivals();
    arrivals.connectAll("abc");
    for (let i = 0; i < 20; i++) arrivals.connect(`w${i}`);
    await arrivals.clock.advance(60_000);
    // Ten turns go by before the patience of the others is over.
    expect(arrivals.accepted).toHaveLength(13);
    expect(arrivals.closed).toEqual(Array.from({ length: 10 }, (_, i) => `w${i}`));
  });

  it("allows a few at once again after a rest", async () => {
    const arrivals = new Arrivals();
    arrivals.connectAll("abc");
    await arrivals.clock.advance(60_000);
    arrivals.connectAll("defg");
    expect(arrivals.accepted).toEqual(["a", "b", "c", "d", "e", "f"]);
  });
});
