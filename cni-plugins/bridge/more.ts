/** What attachments of layer 2 do not need: a part of the bytecode that a call loads when it does. */

export { DelegateRun } from "../cni/delegate.ts";
export { check } from "./check.ts";
export { addressSteps, askIpam, encodeAddresses } from "./container-steps.ts";
export { gatewaySteps } from "./gateway-steps.ts";
export { gc } from "./gc.ts";
export { removeIptablesMasquerade } from "./masquerade-iptables.ts";
export { removeNftMasquerade } from "./masquerade-nftables.ts";
export { masqueradeAddresses } from "./masquerade-steps.ts";
export { removeSpoofCheck } from "./spoof-check.ts";
export { checkSpoofing } from "./spoof-check-steps.ts";
export { status } from "./status.ts";
export { removeUnrecordedRules } from "./unrecorded-rules.ts";
export { makeVlanGateway, requireFiltering, setPortVlans } from "./vlan-steps.ts";
