/** The step of an ADD that lets only the container's MAC pass. */

import type { Step } from "../protocol/steps.ts";
import { type AddState, made } from "./add-state.ts";
import { withFeature } from "./netfilter.ts";
import { forget, netfilterOf, remember } from "./rule-record.ts";
import { addSpoofCheck, removeSpoofCheck } from "./spoof-check.ts";

export const checkSpoofing: Step<AddState> = {
  name: "check the container's MAC",
  apply(state) {
    const { attachment, mac } = state;
    const port = made(state.portName, "the veth pair");
    const handle = withFeature("macspoofchk", "CONFIG_NF_TABLES_BRIDGE", () =>
      addSpoofCheck(netfilterOf(state), attachment, port, mac),
    );
    remember(state, { spoofRule: handle });
  },
  undo(state) {
    const { spoofRule } = state.record;
    if (spoofRule === undefined) return;
    removeSpoofCheck(netfilterOf(state), state.attachment, spoofRule);
    forget(state);
  },
};
