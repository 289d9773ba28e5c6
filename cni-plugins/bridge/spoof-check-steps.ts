/** The step of an ADD that lets only the container's MAC pass. */

import type { Step } from "../cni/steps.ts";
import { type AddState, required } from "./add-state.ts";
import { withFeature } from "./netfilter.ts";
import { recordRules, removeRuleRecord } from "./rule-record.ts";
import { addSpoofCheck, removeSpoofCheck, requireChainNames } from "./spoof-check.ts";

export const checkSpoofing: Step<AddState> = {
  name: "check the container's MAC",
  apply(state) {
    const { attachment, mac } = state;
    requireChainNames(attachment);
    const port = required(state.portName, "the veth pair");
    const handle = withFeature("macspoofchk", "CONFIG_NF_TABLES_BRIDGE", () =>
      addSpoofCheck(state.netfilter(), attachment, port, mac),
    );
    recordRules(state, { spoofRule: handle });
  },
  undo(state) {
    const { spoofRule } = state.rules;
    if (spoofRule === undefined || state.portName === undefined) return;
    removeSpoofCheck(state.netfilter(), state.attachment, spoofRule);
    removeRuleRecord(state.call.syscalls, state.portName);
  },
};
