import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Transport } from "../../kube/client/transport.ts";
import { ServiceUnavailable } from "../backends/pool-backend.ts";
import { unavailableOr } from "../backends/rest-refusal.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { noArguments, numberOption, switchOption } from "../command-line.ts";
import { CliError } from "../faults.ts";
import type { OpenCluster, ServicePlace } from "../open-cluster.ts";
import { openPage } from "../ui/browser.ts";
import { LocalProxy, type Upstream } from "../ui/local-proxy.ts";
import { withWays } from "../ui/ways-answer.ts";
import { explained } from "../way/explained.ts";

const SECRET_BYTES = 32;
const MAX_PORT = 65_535;
/** Longest silence of an answer; an event stream sends something each half minute. */
const SILENCE_MS = 100_000;

export const ui: CommandSpec = {
  name: "ui",
  summary: "opens the page of the pool in a browser, until Ctrl-C",
  details: [
    "The page is served on 127.0.0.1 only, and only under the address that is printed: it has a secret of " +
      "this run. Who has the address and an account on this machine reads what you may read.",
  ],
  examples: ["kubectl macpool ui", "kubectl macpool ui --no-browser --port 8080"],
  options: [
    { name: "port", value: "PORT", summary: "port on 127.0.0.1; default: any free one" },
    { name: "no-browser", summary: "only print the address" },
  ],
  run: async (input) => {
    const { line, open, print, signal } = input;
    noArguments(line);
    const port = numberOption(line, "port", 1, MAX_PORT) ?? 0;
    const cluster = await open();
    const place = await servicePlace(input, cluster);
    const transport = new Transport(place.credentials);
    try {
      const upstream = withWays(
        upstreamOf(transport, place),
        (owner) => explained([owner], input),
        await input.namespace(),
      );
      const secret = randomBytes(SECRET_BYTES).toString("base64url");
      await using proxy = await listening(upstream, secret, port);
      print(`The page of the MAC pool: ${proxy.url}\nCtrl-C ends it.\n`);
      await using page = switchOption(line, "no-browser") ? undefined : await openPage(proxy.url);
      if (page?.opened === false) print("No program was found to open it: copy the address into a browser.\n");
      if (!signal.aborted) await once(signal, "abort");
    } finally {
      await transport.close();
    }
    return { stdout: "", exitCode: 0 };
  },
};

/** Asks once before the page is opened, to report here what is wrong. */
async function servicePlace({ line }: CommandInput, cluster: OpenCluster): Promise<ServicePlace> {
  try {
    const place = await cluster.service();
    const { status, body } = await place.client
      .raw("GET", `${place.path}/readyz`, { timeoutMs: line.options.requestTimeoutMs })
      .catch((error) => {
        throw unavailableOr(error);
      });
    if (status === 200) return place;
    const { message = body } = (body ?? {}) as { readonly message?: unknown };
    throw new ServiceUnavailable(`it answers ${status} (${String(message).trim()})`);
  } catch (error) {
    if (error instanceof ServiceUnavailable) {
      throw new CliError(`the page is served by the MAC pool's service, and ${error.message}`, { cause: error });
    }
    throw cluster.describe(error);
  }
}

async function listening(upstream: Upstream, secret: string, port: number): Promise<LocalProxy> {
  try {
    return await LocalProxy.listen(upstream, { secret, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CliError(`port ${port} of 127.0.0.1 can't be used (${code ?? message}): choose another one with --port`);
  }
}

/** Asks once more with fresh credentials where the server does not take those that it got. */
function upstreamOf(transport: Transport, { path, credentials }: ServicePlace): Upstream {
  return {
    send: async (below, headers, signal) => {
      const request = { method: "GET", path: path + below, headers, signal, idleTimeoutMs: SILENCE_MS };
      const answer = await transport.send(request);
      if (answer.status !== 401) return answer;
      for await (const _ of answer.body) break;
      credentials.refresh(answer.authorization);
      return transport.send(request);
    },
  };
}
