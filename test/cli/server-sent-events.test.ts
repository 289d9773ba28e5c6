import fc from "fast-check";
import { expect, it } from "vitest";
import { eventsOf } from "../../src/cli/doors/server-sent-events.ts";

async function read(chunks: readonly Uint8Array[]) {
  const messages: { data: string; id: string | undefined }[] = [];
  for await (const message of eventsOf(
    (async function* () {
      yield* chunks;
    })(),
  ))
    messages.push(message);
  return messages;
}

it("reads data and ID of each event, and leaves out comments and what is cut off", async () => {
  const text = ': hello\n\nid: 7\ndata: {"a":1}\n\nevent: x\ndata: one\ndata: two\n\r\ndata:three\r\n\r\ndata: cut';
  expect(await read([Buffer.from(text)])).toEqual([
    { id: "7", data: '{"a":1}' },
    { id: undefined, data: "one\ntwo" },
    { id: undefined, data: "three" },
  ]);
});

it("reads the same however the bytes are split", async () => {
  const text = "id: 1\ndata: gr\u00fc\u00df\n\n: \u2713\n\nid: 2\ndata: {}\n\n";
  const bytes = Buffer.from(text);
  const whole = await read([bytes]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length)), async (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      expect(await read(chunks)).toEqual(whole);
    }),
  );
});
