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
/** A defect of the plugin. The native host uses it too, for its last-resort answer. */
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
