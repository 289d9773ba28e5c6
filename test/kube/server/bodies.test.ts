import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { Bodies } from "../../../src/kube/server/bodies.ts";
import { ManualClock } from "../support/manual-clock.ts";

const KIB = 1024;
const LIMITS = { maxBodyBytes: 1024 * KIB, maxBytes: 1024 * KIB };

class Reading {
  readonly clock = new ManualClock();
  readonly #bodies = new Bodies({ ...LIMITS, clock: this.clock });

  /** A body of which the client has sent a part. */
  begin(remoteAddress = "10.0.0.1"): { sent: PassThrough; text: Promise<string | undefined>; send(kib: number): void } {
    const sent = new PassThrough({ highWaterMark: LIMITS.maxBodyBytes });
    const text = new Promise<string | undefined>((resolve, reject) => {
      const request = Object.assign(sent, { headers: {}, socket: { remoteAddress } }) as unknown as IncomingMessage;
      this.#bodies.read(request, (error, read) => {
        if (error === null) resolve(read);
        else reject(error);
      });
    });
    return { sent, text, send: (kib) => void sent.write("x".repeat(kib * KIB)) };
  }
}

describe("Bodies", () => {
  it("reads a body of a usual length at once", async () => {
    const { sent, text, send } = new Reading().begin();
    send(100);
    sent.end();
    expect(await text).toHaveLength(100 * KIB);
  });

  it("reads what is long piece by piece, and loses nothing", async () => {
    const reading = new Reading();
    const { sent, text, send } = reading.begin();
    for (const kib of [100, 100, 100, 100]) send(kib);
    sent.end();
    const lengths = [];
    for (let turn = 0; turn < 3; turn++) {
      lengths.push(sent.readableLength / KIB);
      await reading.clock.advance(4);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(lengths).toEqual([200, 100, 0]);
    expect(await text).toHaveLength(400 * KIB);
    expect(reading.clock.pending).toBe(0);
  });

  it("reads the long body of an address however many another address sends", async () => {
    const reading = new Reading();
    const flood = Array.from({ length: 5 }, () => reading.begin("10.0.0.2"));
    for (const { send } of flood) for (const kib of [130, 60]) send(kib);
    const { sent, text, send } = reading.begin("10.0.0.1");
    for (const kib of [130, 60]) send(kib);
    sent.end();
    for (let turn = 0; turn < 4; turn++) await reading.clock.advance(4);
    expect(await text).toHaveLength(190 * KIB);
    expect(flood.map(({ sent: one }) => one.readableLength / KIB)).toContain(60);
  });

  it("refuses a body above its limit in the middle", async () => {
    const reading = new Reading();
    const { text, send } = reading.begin();
    const refused = expect(text).rejects.toThrow(`the body is longer than ${LIMITS.maxBodyBytes} bytes`);
    for (let i = 0; i < 6; i++) send(200);
    await reading.clock.advance(100);
    await refused;
  });
});
