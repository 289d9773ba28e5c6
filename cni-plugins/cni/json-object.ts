/** JSON that may be missing or damaged: what an earlier call wrote. */

import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { ENOENT, ENOTDIR } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { isJsonObject, type JsonObject } from "./config-object.ts";

/** Undefined for what can't be read, is no JSON or no object. */
export function parseObject(read: () => string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(read());
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The files of a folder that hold a JSON object; none when the folder is not there. */
export function readObjects(
  syscalls: Syscalls,
  folder: string,
): { readonly file: string; readonly content: JsonObject }[] {
  return namesIn(syscalls, folder).flatMap((name) => {
    const file = `${folder}/${name}`;
    const content = name.endsWith(".json") ? parseObject(() => syscalls.readFile(OWN_NETNS, file)) : undefined;
    return content === undefined ? [] : [{ file, content }];
  });
}

function namesIn(syscalls: Syscalls, folder: string): string[] {
  try {
    return syscalls.listDirectory(folder);
  } catch (error) {
    if ([ENOENT, ENOTDIR].includes(errnoOf(error) ?? 0)) return [];
    throw error;
  }
}
