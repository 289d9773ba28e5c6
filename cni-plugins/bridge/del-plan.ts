/**
 * What DEL removes besides the pair. DEL comes with today's configuration; the ADD's is in the attachment record, if that
 * is still there (docs/decisions/025).
 */

import { attachmentRecordFile } from "../cni/attachment-record-file.ts";
import { ConfigObject } from "../cni/config-object.ts";
import { parseObject } from "../cni/json-object.ts";
import type { Call } from "../cni/plugin.ts";
import type { Request } from "../cni/request.ts";
import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { readIpamType } from "./config.ts";

export interface DelPlan {
  readonly spoofCheck: boolean;
  readonly masquerade: boolean;
  /** IPAM plugins that may have given addresses, each with the configuration that it was, or would be, called with. */
  readonly ipam: readonly Ipam[];
  /** Whose the record is that is there. */
  readonly record: "none" | "this attachment's" | "another network's";
}

interface Ipam {
  readonly type: string;
  readonly request: Request;
}

/** Of today's configuration and the ADD's. Today's may be wrong in anything: the attachment goes all the same. */
export function planDel(call: Call): DelPlan {
  const { syscalls, request, warn } = call;
  const today = planFor(request, warn);
  const recorded = readRecorded(syscalls, request);
  if (recorded === undefined) return { ...today, record: "none" };
  if (recorded.network !== request.network) return { ...today, record: "another network's" };
  const record = "this attachment's";
  const { stdin } = recorded;
  const values = stdin === request.stdin ? undefined : parseObject(() => stdin);
  if (values === undefined) return { ...today, record };
  const config = new ConfigObject(values);
  const before = planFor({ ...request, config, stdin }, () => {});
  const isSame = JSON.stringify(config.raw("ipam")) === JSON.stringify(request.config.raw("ipam"));
  return {
    spoofCheck: today.spoofCheck || before.spoofCheck,
    masquerade: today.masquerade || before.masquerade,
    ipam: isSame ? today.ipam : [...before.ipam, ...today.ipam],
    record,
  };
}

function planFor(request: Request, warn: (text: string) => void): Omit<DelPlan, "record"> {
  const { config } = request;
  const read = <T>(fallback: T, action: () => T): T => {
    try {
      return action();
    } catch (error) {
      warn(`${error instanceof Error ? error.message : error}`);
      return fallback;
    }
  };
  const type = read("", () => readIpamType(config));
  return {
    spoofCheck: read(true, () => config.boolean("macspoofchk")),
    masquerade: read(true, () => config.boolean("ipMasq")),
    ipam: type === "" ? [] : [{ type, request }],
  };
}

/** The network and the configuration of the last ADD for the interface; undefined when there is no whole record. */
function readRecorded(syscalls: Syscalls, request: Request): { network: unknown; stdin: string } | undefined {
  const file = attachmentRecordFile("bridge", request);
  if (!syscalls.exists(file)) return undefined;
  const { network, config } = parseObject(() => syscalls.readFile(OWN_NETNS, file)) ?? {};
  return typeof config === "string" ? { network, stdin: config } : undefined;
}
