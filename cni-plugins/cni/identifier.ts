/** Which names the protocol allows. */

import { IFNAME_MAX_BYTES } from "../netlink/rtnetlink.ts";
import { encodeUtf8 } from "../netlink/utf8.ts";

/** First a letter or digit, then also `_`, `.` and `-`: container ids and network names. */
export function isIdentifier(text: string): boolean {
  if (text === "") return false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i);
    if (!isAlphanumeric(c) && (i === 0 || (c !== "_" && c !== "." && c !== "-"))) return false;
  }
  return true;
}

/** Why the kernel would not take the name for an interface; undefined when it would. */
export function interfaceNameFault(name: string): string | undefined {
  if (name === "") return "is empty";
  if (encodeUtf8(name).length > IFNAME_MAX_BYTES) return `is longer than ${IFNAME_MAX_BYTES} characters`;
  if (name === "." || name === "..") return "is not a name";
  for (const c of name) {
    if (c === "/" || c === ":") return `contains "${c}"`;
    if (c.trim() === "") return "contains white space";
    if (c < " " || c === "\x7f") return "contains a control character";
  }
  return undefined;
}

/** As above, and of what is made anew: the kernel takes `net%d` for the next of net0, net1, ... at each request. */
export function newInterfaceNameFault(name: string): string | undefined {
  return name.includes("%") ? 'contains "%"' : interfaceNameFault(name);
}

function isAlphanumeric(c: string): boolean {
  return (c >= "0" && c <= "9") || (c >= "A" && c <= "Z") || (c >= "a" && c <= "z");
}
