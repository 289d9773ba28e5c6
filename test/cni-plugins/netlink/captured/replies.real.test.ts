import { describe, expect, it } from "vitest";
import { THIS_MACHINE } from "../../../netns/machine.ts";
import { captureReplies, readReplies } from "./replies.ts";
import { LINKS_AND_ADDRESSES } from "./reply-scenes.ts";

/** What a kernel says beside an error changes from version to version. */
const withoutText = (read: object): object => ("errno" in read ? { errno: read.errno } : read);

describe("answers of this kernel", () => {
  it("are read as the stored ones are", async () => {
    for (const reply of await captureReplies(THIS_MACHINE, LINKS_AND_ADDRESSES)) {
      const expected = LINKS_AND_ADDRESSES.expected[reply.asked]?.map(withoutText);
      expect(readReplies(reply), reply.asked).toMatchObject(expected ?? []);
    }
  });
});
