import { describe, expect, it } from "vitest";
import { THIS_MACHINE } from "../../../netns/machine.ts";
import { captureReplies, readReplies } from "./replies.ts";
import { LINKS_AND_ADDRESSES, NFTABLES } from "./reply-scenes.ts";

/** What a kernel says beside an error changes from version to version. */
const withoutText = (read: object): object => ("errno" in read ? { errno: read.errno } : read);

describe("answers of this kernel", () => {
  it.each([
    ["links and addresses", LINKS_AND_ADDRESSES],
    ["nftables", NFTABLES],
  ])("are read as the stored ones are: %s", async (_, scene) => {
    for (const reply of await captureReplies(THIS_MACHINE, scene)) {
      const expected = scene.expected[reply.asked]?.map(withoutText);
      expect(readReplies(reply), reply.asked).toMatchObject(expected ?? []);
    }
  });
});
