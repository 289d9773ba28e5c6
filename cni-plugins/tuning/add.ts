/** ADD: saves the interface's values, then sets those of the configuration. All or nothing. */

import { CniError, INVALID_CONFIG, KERNEL_REFUSED } from "../cni/cni-error.ts";
import { openNetns } from "../cni/netns.ts";
import type { Call, ModifiedPrevResult } from "../cni/plugin.ts";
import { applySteps, type Step } from "../cni/steps.ts";
import {
  type Originals,
  readOriginals,
  removeState,
  requireStateFile,
  saveOriginals,
  stateFile,
} from "../cni/tuning-state.ts";
import type { TunedLink } from "../netlink/link-tuning.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { readConfig, type TuningConfig } from "./config.ts";
import { findInterface, originalsOf, requestOriginals, requestTuning } from "./interface.ts";
import { previousResult, tunedResult } from "./previous-result.ts";
import { interfaceRefusal } from "./refusal.ts";
import { readSysctl, requireAllowed, type Sysctl, writeSysctl } from "./sysctl.ts";

interface AddState {
  readonly call: Call;
  readonly config: TuningConfig;
  readonly netns: number;
  readonly socket: NetlinkSocket;
  readonly link: TunedLink | undefined;
  readonly originals: Originals;
  readonly file: string;
  /** The file is an earlier ADD's: it stays if this ADD fails. */
  savedBefore: boolean;
}

export function add(call: Call): ModifiedPrevResult {
  const { syscalls, request, warn } = call;
  // First, so that the plugin's own namespace is refused whatever else is wrong.
  const { fd: netns, socket } = openNetns(syscalls, request);
  const config = readConfig(request, warn);
  const result = previousResult(request.config, request.version);
  requireAllowed(syscalls, config.sysctls);
  const link = changesInterface(config) ? requireInterface(socket, call) : undefined;
  if (link !== undefined) requireStateFile(request);
  const state: AddState = {
    call,
    config,
    netns,
    socket,
    link,
    originals: link === undefined ? {} : originalsOf(link, config),
    file: stateFile(config.dataDir, request),
    savedBefore: false,
  };
  const steps = [
    ...(link === undefined ? [] : [saveState]),
    ...config.sysctls.map(setSysctl),
    ...(link === undefined ? [] : [tuneInterface]),
  ];
  applySteps(steps, state, (step, error) => warn(`could not take back "${step}": ${error}`));
  return { prevResult: tunedResult(result, request.ifname, config, request.version) };
}

export function requireInterface(socket: NetlinkSocket, { request }: Call): TunedLink {
  const link = findInterface(socket, request.ifname);
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

const saveState: Step<AddState> = {
  name: "save what the interface was",
  apply(state) {
    const { syscalls, request } = state.call;
    const saved = readOriginals(syscalls, state.file);
    state.savedBefore = saved !== undefined;
    saveOriginals(syscalls, state.file, { ...state.originals, ...saved }, request);
  },
  undo({ call, file, savedBefore }) {
    if (!savedBefore) removeState(call.syscalls, file);
  },
};

function setSysctl(sysctl: Sysctl): Step<AddState> {
  let before: string | undefined;
  return {
    name: `set sysctl ${sysctl.key}`,
    apply({ call, netns }) {
      before = readSysctl(call.syscalls, netns, sysctl);
      writeSysctl(call.syscalls, netns, sysctl, sysctl.value);
    },
    undo({ call, netns }) {
      if (before !== undefined) writeSysctl(call.syscalls, netns, sysctl, before.trimEnd());
    },
  };
}

const tuneInterface: Step<AddState> = {
  name: "tune the interface",
  apply({ socket, link, config }) {
    if (link === undefined) return;
    const answers = socket.transact(requestTuning(socket.batch(), link.index, config));
    const at = answers.findIndex(({ error }) => error !== undefined);
    const error = answers[at]?.error;
    if (error === undefined) return;
    const { message, isFinal } = interfaceRefusal(socket, link, config, at, error);
    if (isFinal) throw new CniError(KERNEL_REFUSED, message);
    error.message = message;
    throw error;
  },
  undo({ socket, link, originals }) {
    if (link !== undefined) socket.transact(requestOriginals(socket.batch(), link.index, originals));
  },
};
