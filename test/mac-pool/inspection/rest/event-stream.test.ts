import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventStreamDecoder, type ServerSentEvent } from "../../../../src/mac-pool/inspection/rest/event-stream.ts";

const decode = (...pieces: (string | Uint8Array)[]): ServerSentEvent[] => {
  const decoder = new EventStreamDecoder();
  return pieces.flatMap((piece) => decoder.push(Buffer.from(piece)));
};

describe("server-sent events", () => {
  it("end with an empty line, keep the last id, and join their lines of data", () => {
    expect(decode("id: 7\ndata: a\ndata:b\n\n", ": a comment\n\n", "data: c\n\n", "data: cut")).toEqual([
      { id: "7", data: "a\nb" },
      { id: "7", data: "c" },
    ]);
  });

  it("are not told before they are whole", () => {
    expect(decode("data: a\n")).toEqual([]);
    expect(decode("id: 1\nretry: 5\nevent: x\n\n")).toEqual([]);
  });

  it("are the same wherever the bytes are cut, with any ends of lines", () => {
    const line = fc.constantFrom("data: grüß ✓", "data:two", "id: 5", ": note", "event: x", "", "", "data", "id: a\0b");
    const end = fc.constantFrom("\n", "\r\n", "\r");
    const lines = fc.array(fc.tuple(line, end), { maxLength: 30 });
    fc.assert(
      fc.property(lines, fc.array(fc.nat(200), { maxLength: 8 }), (written, cuts) => {
        // A CR before a line feed of the next line would be read as one end.
        const bytes = Buffer.from(written.map(([content, close]) => content + close).join(""));
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
        expect(decode(...pieces, "\n\n")).toEqual(decode(bytes, "\n\n"));
      }),
    );
  });

  it.each([
    ["one line", "data: ", "x".repeat(1024 * 1024)],
    ["many lines", "", `data: ${"x".repeat(1024)}\n`.repeat(1024)],
  ])("that do not end are refused: %s", (_, first, piece) => {
    const decoder = new EventStreamDecoder();
    decoder.push(Buffer.from(first));
    expect(() => {
      for (let pushed = 0; pushed < 5; pushed++) decoder.push(Buffer.from(piece));
    }).toThrow("exceeds 4194304 characters");
  });
});
