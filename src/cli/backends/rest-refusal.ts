import { MAC_POOL_MANAGER } from "../../api/names.ts";
import { ApiError, ConnectionError } from "../../kube/client/api-error.ts";
import type { ProblemView } from "../../mac-pool/inspection/rest/views.ts";
import { CliError } from "../faults.ts";
import { plain } from "./plain-text.ts";
import { RoleMissing, ServiceUnavailable } from "./pool-backend.ts";

/** Errors from the pool's REST interface, or from the API server in front of it. */

/** Code of what does not exist; a path that the pool does not know has another. */
export const NOT_FOUND = "MACPOOL_NOT_FOUND";

/** Whether the service says that there is no such object. */
export function isUnknownToPool(error: unknown): error is CliError {
  return error instanceof CliError && error.cause instanceof ApiError && error.cause.reason === NOT_FOUND;
}

/** Parameters of REST as the command line names them. */
const SAID: Readonly<Record<string, string>> = {
  namespace: "the namespace",
  name: "the name",
  search: "the text to look for",
  from: "--from",
  to: "--to",
};
/** What the types of its problems have before the code. */
const PROBLEM_TYPE = "urn:macpool:";
const HINT_OF_REST = / For what is in (your|another) namespace, name it:.*$/;
const HINT = " For what is in $1 namespace, name it: -n NAMESPACE.";
const HINT_OF_POOLS = / For the claims and the limit of your namespace, read .*$/;
const OWN_LIMIT = " kubectl macpool namespaces -n NAMESPACE shows the claims and the limit of your namespace.";
const LONG_LIST = "The list took longer than five minutes: try again, or ask for one namespace.";

const NO_PROXY =
  "Ask an administrator for the Role macpool-inspection of docs/guide/for-vm-owners.md, or for ClusterRole kubemacpool-view in the whole cluster.";
const STRANGER = "Log in again, or give another --token.";
const SILENT =
  `Look at the pods of Deployment ${MAC_POOL_MANAGER} and at their log. ` +
  "While all of them are down, VMs and pods that need an address are refused.";
const LATER = "Ask again in a while.";
const ABSENT = "Set kubeMacPool in NetworkAddonsConfig cluster. If it is set, correct --pool-namespace.";

/** A problem of REST is reported to the user. Any other answer comes from the API server, so REST is unavailable. */
export function refusalOf({ status, body }: { readonly status: number; readonly body: unknown }): Error {
  if (!isProblem(body)) return unavailableBecause(status, body);
  const problem = plain(body);
  if (status === 401) return new ServiceUnavailable(`it does not accept the token (${problem.detail})`, STRANGER);
  const cause = new ApiError({ status, reason: problem.code, message: problem.detail });
  return new CliError(sentenceOf(problem), { cause });
}

/** `refusalOf` for answers, `ServiceUnavailable` for a connection error or what is behind it, and any other error as it is. */
export function unavailableOr(error: unknown): unknown {
  if (error instanceof ConnectionError) {
    if (error.cause instanceof ServiceUnavailable) return error.cause;
    return new ServiceUnavailable(`it does not answer (${error.code ?? error.message})`, SILENT);
  }
  if (!(error instanceof ApiError)) return error;
  const { status, reason, message } = error;
  const code = reason.startsWith(PROBLEM_TYPE) ? reason.slice(PROBLEM_TYPE.length) : undefined;
  return refusalOf({ status, body: code === undefined ? { message } : { code, detail: message } });
}

export function isProblem(body: unknown): body is ProblemView {
  const { code, detail } = (body ?? {}) as { code?: unknown; detail?: unknown };
  return typeof code === "string" && code.startsWith("MACPOOL_") && typeof detail === "string";
}

/** In the words of the command line, which has options in place of parameters. */
function sentenceOf({ code, detail, parameter = "", didYouMean }: ProblemView): string {
  if (code === "MACPOOL_EXPIRED") return LONG_LIST;
  if (code === "MACPOOL_FORBIDDEN") return detail.replace(HINT_OF_REST, HINT).replace(HINT_OF_POOLS, OWN_LIMIT);
  if (code === NOT_FOUND) return detail.replace(NO_OBJECT, notThere);
  const said = detail.replace(`Parameter ${parameter} `, `${SAID[parameter] ?? parameter} `);
  return didYouMean === undefined || said.includes("Did you mean") ? said : `${said}; did you mean ${didYouMean}?`;
}

const NO_OBJECT = /^There is no (.+?)\.(?: Did you mean (.+)\?)?$/;

function notThere(_: string, what: string, meant: string | undefined): string {
  return `there is no ${what}${meant === undefined ? "" : `: did you mean ${meant}?`}`;
}

function unavailableBecause(status: number, body: unknown): ServiceUnavailable {
  const { message } = (body ?? {}) as { readonly message?: unknown };
  const text = typeof message === "string" ? plain(message).replace(/^error trying to reach service: /, "") : "";
  if (status === 403) return new RoleMissing(`you may not use the proxy of its Service (${text || "403"})`, NO_PROXY);
  if (status === 404) return new ServiceUnavailable("its Service does not exist there", ABSENT);
  if (status === 429)
    return new ServiceUnavailable(`the API server refuses more requests for now (${text || status})`, LATER);
  return new ServiceUnavailable(`it does not answer (${text || status})`, SILENT);
}
