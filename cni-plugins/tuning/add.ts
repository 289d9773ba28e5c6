/** ADD: saves the interface's values, then sets those of the configuration. All or nothing. */

import { allOrNothing, type OnFailure } from "../cni/all-or-nothing.ts";
import { CniError, INVALID_CONFIG, KERNEL_REFUSED } from "../cni/cni-error.ts";
import { openNetns } from "../cni/netns.ts";
import type { Call, ModifiedPrevResult } from "../cni/plugin.ts";
import { readOriginals, removeState, requireStateFile, saveOriginals, stateFile } from "../cni/tuning-state.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { findLink, type Link } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { readConfig, type TuningConfig } from "./config.ts";
import { originalsOf, requestOriginals, requestTuning } from "./interface.ts";
import { previousResult, tunedResult } from "./previous-result.ts";
import { interfaceRefusal } from "./refusal.ts";
import { readSysctl, requireAllowed, type Sysctl, writeSysctl } from "./sysctl.ts";

export function add(call: Call): ModifiedPrevResult {
  const { syscalls, request, warn } = call;
  // First, so that the plugin's own namespace is refused whatever else is wrong.
  const netns = openNetns(syscalls, request);
  const config = readConfig(request, warn);
  const result = previousResult(request.config, request.version);
  requireAllowed(syscalls, config.sysctls);
  const link = changesInterface(config) ? requireInterface(netns.socket, call) : undefined;
  if (link !== undefined) requireStateFile(request);
  allOrNothing(warn, (onFailure) => {
    if (link !== undefined) saveState(call, config, link, onFailure);
    for (const sysctl of config.sysctls) setSysctl(syscalls, netns.fd, sysctl, onFailure);
    if (link !== undefined) tuneInterface(netns.socket, config, link, onFailure);
  });
  return { prevResult: tunedResult(result, request.ifname, config, request.version) };
}

export function requireInterface(socket: NetlinkSocket, { request }: Call): Link {
  const link = findLink(socket, request.ifname);
  if (link !== undefined) return link;
  throw new CniError(
    INVALID_CONFIG,
    `interface ${request.ifname} not found in ${request.netns}: put tuning after the plugin that makes it`,
  );
}

function changesInterface({ mac, mtu, promiscuous, allMulticast, txQueueLength }: TuningConfig): boolean {
  const sizes = [mac, mtu, allMulticast, txQueueLength];
  return promiscuous || sizes.some((value) => value !== undefined);
}

/** The file of an earlier ADD stays if this one fails, and what it says goes before what the interface is now. */
function saveState({ syscalls, request }: Call, config: TuningConfig, link: Link, onFailure: OnFailure): void {
  const file = stateFile(config.dataDir, request);
  const saved = readOriginals(syscalls, file);
  if (saved === undefined) onFailure("save what the interface was", () => removeState(syscalls, file));
  saveOriginals(syscalls, file, { ...originalsOf(link, config), ...saved }, request);
}

function setSysctl(syscalls: Syscalls, netns: number, sysctl: Sysctl, onFailure: OnFailure): void {
  const before = readSysctl(syscalls, netns, sysctl);
  if (before !== undefined) {
    onFailure(`set sysctl ${sysctl.key}`, () => writeSysctl(syscalls, netns, sysctl, before.trimEnd()));
  }
  writeSysctl(syscalls, netns, sysctl, sysctl.value);
}

function tuneInterface(socket: NetlinkSocket, config: TuningConfig, link: Link, onFailure: OnFailure): void {
  onFailure("tune the interface", () => {
    socket.transact(requestOriginals(socket.batch(), link.index, originalsOf(link, config)));
  });
  const answers = socket.transact(requestTuning(socket.batch(), link.index, config));
  const at = answers.findIndex(({ error }) => error !== undefined);
  const error = answers[at]?.error;
  if (error === undefined) return;
  const { message, isFinal } = interfaceRefusal(socket, link, config, at, error);
  if (isFinal) throw new CniError(KERNEL_REFUSED, message);
  error.message = message;
  throw error;
}
