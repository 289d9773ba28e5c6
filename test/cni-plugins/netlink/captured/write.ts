/** `npm run capture:netlink`: asks programs and kernels anew and writes what they say into `requests.json` and `replies.json`. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import { Guest } from "../../../guest-kernel/guest.ts";
import { guestParts } from "../../../guest-kernel/packages.ts";
import { THIS_MACHINE } from "../../../netns/machine.ts";
import { providePrograms } from "../../../tools/debian/programs.ts";
import { capture, captureInGuest } from "./captures.ts";
import { captureReplies } from "./replies.ts";
import { LINKS_AND_ADDRESSES, NFTABLES, VLANS } from "./reply-scenes.ts";

const write = (name: string, content: object): void =>
  writeFileSync(path.join(import.meta.dirname, name), `${JSON.stringify(content, null, 2)}\n`);

const programs = await providePrograms(process.env, console.error, ["nft", "strace", "linux.uml", "busybox"]);
process.env.PATH = programs.path;
const guest = await Guest.boot(guestParts());
try {
  write("requests.json", { ...(await capture()), inGuest: await captureInGuest(guest) });
  const linksAndAddresses = await captureReplies(THIS_MACHINE, LINKS_AND_ADDRESSES);
  const nftables = await captureReplies(THIS_MACHINE, NFTABLES);
  write("replies.json", { linksAndAddresses, nftables, vlans: await captureReplies(guest, VLANS) });
} finally {
  await guest[Symbol.asyncDispose]();
}
