import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventStreamDecoder, type ServerSentEvent } from "../../src/web/event-stream.ts";

const decode = (...pieces: string[]): ServerSentEvent[] => {
  const decoder = new EventStreamDecoder();
  return pieces.flatMap((piece) => decoder.push(piece));
};

describe("server-sent events", () => {
  it("end with an empty line, keep the last id, and join their lines of data", () => {
    expect(decode("id: 7\ndata: a\ndata:b\n\n", ": a comment\n\n", "data: c\n\n")).toEqual([
      { id: "7", data: "a\nb" },
      { id: "7", data: "c" },
    ]);
  });

  it("are not told before they are whole", () => {
    expect(decode("data: a\n")).toEqual([]);
    expect(decode("id: 1\nretry: 5\nevent: x\n\n")).toEqual([]);
  });

  it("are the same wherever the text is cut, with any ends of lines", () => {
    const line = fc.constantFrom("data: one", "data:two", "id: 5", ": note", "event: x", "", "", "data", "id: a\0b");
    const end = fc.constantFrom("\n", "\r\n", "\r");
    const lines = fc.array(fc.tuple(line, end), { maxLength: 30 });
    fc.assert(
      fc.property(lines, fc.array(fc.nat(200), { maxLength: 8 }), (written, cuts) => {
        // A CR before a line feed of the next line would be read as one end.
        const text = `${written.map(([content, close]) => content + close).join("")}`;
        const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).toSorted((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((place, index) => text.slice(places[index], place));
        expect(decode(...pieces, "\n\n")).toEqual(decode(text, "\n\n"));
      }),
    );
  });
});
