/**
 * The catalogue of error codes. 1-99 are the CNI specification's, 100 and up ours; a code never changes its meaning.
 *
 * This folder is the CNI protocol: environment and stdin to a request, results and errors to stdout. It knows no plugin
 * and no kernel interface; every plugin imports it.
 */

export const INCOMPATIBLE_VERSION = 1;
export const INVALID_ENVIRONMENT = 4;
export const IO_FAILURE = 5;
export const DECODING_FAILURE = 6;
export const INVALID_CONFIG = 7;
export const INVALID_NETNS = 8;
export const TRY_AGAIN_LATER = 11;
/** STATUS: the node can't serve an ADD of this configuration. */
export const PLUGIN_NOT_AVAILABLE = 50;
/** A defect of the plugin. The native code uses it too, for its last-resort answer. */
export const INTERNAL = 100;
/** The kernel refused a request. */
export const KERNEL_REFUSED = 101;
/** The container has an interface of that name already. */
export const INTERFACE_EXISTS = 102;
/** The name of the bridge belongs to something that is no bridge. */
export const NOT_A_BRIDGE = 103;
/** The network namespace can't be opened. */
export const NETNS_UNUSABLE = 104;
/** The new port did not begin to forward. */
export const PORT_NOT_UP = 105;
/** CHECK found something else than ADD left. */
export const CHECK_FAILED = 106;
/** An IPAM plugin can't be run or gave no usable answer. Its own errors are passed on as they are. */
export const DELEGATE_FAILED = 107;
/** The bridge has another address than the gateway's. */
export const ADDRESS_CONFLICT = 108;
/** The kernel lacks a feature that the configuration uses. */
export const KERNEL_FEATURE_MISSING = 109;
/** The node's iptables failed or is missing. */
export const IPTABLES_FAILED = 110;
/** An IPv6 address is in use already, or did not become usable in time. */
export const ADDRESS_UNUSABLE = 111;
/** The nftables chain that macspoofchk needs is there, but no frame goes through it. */
export const RULES_NOT_IN_FORCE = 112;

/** What the plugin answers instead of a result. `message` says what, where and what to do. */
export class CniError extends Error {
  readonly code: number;
  readonly details: string;

  constructor(code: number, message: string, details = "") {
    super(message);
    this.code = code;
    this.details = details;
  }
}
