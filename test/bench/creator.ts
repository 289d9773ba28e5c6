/**
 * Child process of benchmarks: creates VMs in the namespace `honest` and takes the milliseconds of each creation. It is small, so
 * that what it measures is not its own collection of garbage.
 */
import { Agent, type RequestOptions, request } from "node:https";
import { machine } from "../mac-pool/machines.ts";
import { inFlight } from "../support/in-flight.ts";

/** Of an administrator at the API server. */
export interface CreatorAccess {
  readonly url: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export type CreatorOrder =
  /** VMs are created there from now on. Connections to where they were created before stay. */
  | { readonly what: "begin"; readonly access: CreatorAccess }
  /** So many creations, so many of them under way at any time. */
  | { readonly what: "create"; readonly creations: number; readonly inFlight: number }
  /** Creations at a steady rate, whether or not the one before was answered, until `stop`. */
  | { readonly what: "go on"; readonly perSecond: number }
  | { readonly what: "stop" };

/** Answer to each order but `go on`. */
export interface Created {
  readonly samples: readonly number[];
  readonly failures: number;
  /** Of the order to create. */
  readonly ms: number;
}

const PATH = "/apis/kubevirt.io/v1/namespaces/honest/virtualmachines";

const places = new Map<string, RequestOptions>();
let options: RequestOptions = {};
let created = 0;
let failures = 0;
let over = new AbortController();
let going: Promise<readonly number[]> = Promise.resolve([]);

process.on("message", async (order: CreatorOrder) => {
  if (order.what === "go on") {
    over = new AbortController();
    going = goOn(order.perSecond, over.signal);
    return;
  }
  if (order.what === "begin") {
    options = places.get(order.access.url) ?? optionsFor(order.access);
    places.set(order.access.url, options);
  }
  const startMs = performance.now();
  if (order.what === "create") going = inFlight(order.inFlight, order.creations, create);
  over.abort();
  const samples = await going;
  going = Promise.resolve([]);
  process.send?.({ samples, failures, ms: performance.now() - startMs } satisfies Created);
  failures = 0;
});
process.on("disconnect", () => process.exit(0));

function optionsFor({ url, ...tls }: CreatorAccess): RequestOptions {
  const { hostname, port } = new URL(url);
  return { hostname, port, path: PATH, method: "POST", agent: new Agent({ keepAlive: true, ...tls }) };
}

async function goOn(perSecond: number, signal: AbortSignal): Promise<readonly number[]> {
  const startMs = performance.now();
  const calls: Promise<number>[] = [];
  while (!signal.aborted) {
    const waitMs = startMs + (calls.length * 1000) / perSecond - performance.now();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
    calls.push(create());
  }
  return Promise.all(calls);
}

/** Milliseconds until the last byte of the answer. */
function create(): Promise<number> {
  const startMs = performance.now();
  const body = JSON.stringify(machine(`vm-${created++}`, "honest", [{ name: "a" }, { name: "b" }]));
  return new Promise((resolve) => {
    const done = (failure?: string): void => {
      if (failure !== undefined) {
        failures += 1;
        console.error(failure);
      }
      resolve(performance.now() - startMs);
    };
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const asked = request({ ...options, headers }, (answer) => {
      answer.on("error", (error) => done(error.message));
      answer.on("end", () => done(answer.statusCode === 201 ? undefined : `creation of a VM: ${answer.statusCode}`));
      answer.resume();
    });
    asked.on("error", (error) => done(error.message));
    asked.end(body);
  });
}
