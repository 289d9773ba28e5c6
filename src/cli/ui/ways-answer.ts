import { OWNER_KINDS } from "../../api/mac-claim.ts";
import { NAMESPACE_HEADER, WAYS, WAYS_HEADER, type WaysView } from "../../api/way.ts";
import { isForbidden } from "../../kube/client/api-error.ts";
import type { ProblemView } from "../../mac-pool/inspection/rest/views.ts";
import type { OwnerRef } from "../backends/pool-backend.ts";
import { CliError } from "../faults.ts";
import type { Explained } from "../way/explained.ts";
import type { Upstream } from "./local-proxy.ts";

type Answer = Awaited<ReturnType<Upstream["send"]>>;

/**
 * What the page asks about the way of an object's interfaces is answered here, with the rights of the user and in the words of
 * `kubectl macpool explain`: the pool may see other things than its user. Every other question goes to the pool.
 */
export function withWays(
  pool: Upstream,
  explain: (owner: OwnerRef) => Promise<Explained>,
  namespace?: string,
): Upstream {
  const own = namespace === undefined ? {} : { [NAMESPACE_HEADER]: namespace };
  return {
    send: async (path, headers, signal) => {
      const owner = ownerIn(path);
      if (owner !== undefined) return answerAbout(owner, explain);
      const answer = await pool.send(path, headers, signal);
      return { ...answer, headers: { ...answer.headers, [WAYS_HEADER]: "true", ...own } };
    },
  };
}

function ownerIn(path: string): OwnerRef | undefined {
  const [kindText = "", namespace = "", name = "", ...more] = path.startsWith(PREFIX)
    ? path.slice(PREFIX.length).split("/").map(decodeURIComponent)
    : [];
  const kind = OWNER_KINDS.find((one) => one === kindText);
  return kind === undefined || namespace === "" || name === "" || more.length > 0
    ? undefined
    : { kind, namespace, name };
}

const PREFIX = `/api/v1/${WAYS}/`;

async function answerAbout(owner: OwnerRef, explain: (owner: OwnerRef) => Promise<Explained>): Promise<Answer> {
  try {
    const { owner: known, way } = await explain(owner);
    if (known !== undefined) return json(200, "application/json", { way } satisfies WaysView);
    return problem(
      404,
      "MACPOOL_NOT_FOUND",
      `There is no ${owner.kind} ${owner.namespace}/${owner.name} that you may see.`,
    );
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return problem(isForbidden(error.cause) ? 403 : 502, "MACPOOL_UNAVAILABLE", error.message);
  }
}

const problem = (status: number, code: string, detail: string): Answer =>
  json(status, "application/problem+json", {
    type: `urn:macpool:${code}`,
    title: code,
    status,
    code,
    detail,
  } satisfies ProblemView);

function json(status: number, type: string, body: object): Answer {
  const headers = { "content-type": type, "cache-control": "no-store" };
  return { status, headers, body: textOf(JSON.stringify(body)) };
}

async function* textOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
