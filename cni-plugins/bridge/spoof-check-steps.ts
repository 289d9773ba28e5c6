/** The steps of an ADD that let only the container's MAC pass. */

import type { Step } from "../protocol/steps.ts";
import { type AddState, made } from "./add-state.ts";
import { hostInterfaceName } from "./attachment.ts";
import { withFeature } from "./netfilter.ts";
import { forget, netfilterOf, remember } from "./rule-record.ts";
import { addSpoofCheck, removeBegun, removeSpoofCheck, SpoofCheckUnderWay } from "./spoof-check.ts";

/**
 * The kernel goes through the rules of all attachments when one gets its own: it does while the pair is made. Not where an
 * interface has one of the pair's names: the rules would be in force for it (docs/decisions/022).
 */
export const beginSpoofCheck: Step<AddState> = {
  name: "begin to check the container's MAC",
  apply(state) {
    const { attachment, node, container, mac } = state;
    const port = hostInterfaceName(attachment);
    if (node.mayHave(port) || container.mayHave(attachment.ifname)) return;
    state.spoofCheck = new SpoofCheckUnderWay(netfilterOf(state), attachment, { port, mac });
  },
  undo(state) {
    const handle = state.spoofCheck?.finish();
    if (handle !== undefined) removeBegun(netfilterOf(state), state.attachment, handle);
  },
};

/** A DEL may have come before the pair that it didn't find. */
export const checkSpoofing: Step<AddState> = {
  name: "check the container's MAC",
  apply(state) {
    const { attachment, mac } = state;
    const port = made(state.portName, "the veth pair");
    const handle = withFeature(
      "macspoofchk",
      "CONFIG_NF_TABLES_BRIDGE",
      () => takeBegun(state, port) ?? addSpoofCheck(netfilterOf(state), attachment, { port, mac }),
    );
    state.spoofCheck = undefined;
    remember(state, { spoofRule: handle });
  },
  undo(state) {
    const { spoofRule } = state.record;
    if (spoofRule === undefined) return;
    removeSpoofCheck(netfilterOf(state), state.attachment, spoofRule);
    forget(state);
  },
};

/** Undefined when there are no such rules: a DEL that came before the pair removed them, or the pair got another name. */
function takeBegun(state: AddState, port: string): number | undefined {
  const { spoofCheck, attachment } = state;
  const handle = spoofCheck?.finish();
  if (spoofCheck === undefined || handle === undefined) return undefined;
  if (spoofCheck.port === port && spoofCheck.isThere()) return handle;
  removeSpoofCheck(netfilterOf(state), attachment, handle);
  return undefined;
}
