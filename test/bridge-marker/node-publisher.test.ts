import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EVERY_BRIDGE } from "../../src/bridge-marker/bridge-resources.ts";
import { NodeLinks } from "../../src/bridge-marker/node-links.ts";
import {
  isAnswer,
  MIN_PATCH_INTERVAL_MS,
  NodePublisher,
  publishFailure,
} from "../../src/bridge-marker/node-publisher.ts";
import { ApiError, ConnectionError } from "../../src/kube/client/api-error.ts";
import type { Node } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { silentLog } from "../../src/kube/log.ts";
import { ManualClock, settle } from "../kube/support/manual-clock.ts";

/** At least the wait after one failure. */
const RETRY_MS = 1000;

/** A patch that the API server has and has not answered yet. */
interface OpenPatch {
  readonly capacity: Readonly<Record<string, string | null>>;
  answer(): void;
  fail(): void;
}

interface CapacityPatch {
  readonly body: { readonly status: { readonly capacity: OpenPatch["capacity"] } };
}

let clock: ManualClock;
let links: NodeLinks;
let publisher: NodePublisher;
let patches: OpenPatch[];
/** The watch brings an event. */
let tell: (event: object) => void;
let lags: (number | undefined)[];
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new ManualClock();
  links = new NodeLinks(EVERY_BRIDGE);
  patches = [];
  lags = [];
  publisher = new NodePublisher({
    client: apiServer(),
    nodeName: "node-a",
    links,
    updateIntervalMs: 60_000,
    log: silentLog,
    metrics: new Registry(),
    clock,
    random: () => 0,
    observer: { patched: () => {}, published: (lagMs) => lags.push(lagMs) },
  });
  stop = new AbortController();
  running = publisher.run(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await running;
});

/** Has one node, and answers patches when the test says so. */
function apiServer(): KubeClient {
  let version = 1;
  const capacity: Record<string, string> = {};
  const node = (): Node => ({
    metadata: { name: "node-a", uid: "u", resourceVersion: String(version) },
    status: { capacity: { ...capacity } },
  });
  return {
    wholeList: async () => ({ items: [node()], resourceVersion: "1" }),
    async *watchBatches(_resource: unknown, { signal }: { signal: AbortSignal }) {
      yield [];
      for (;;) {
        const { promise, resolve, reject } = Promise.withResolvers<object>();
        tell = resolve;
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        yield [await promise];
      }
    },
    patch: (_resource: unknown, _ref: unknown, { body }: CapacityPatch, { signal }: { signal: AbortSignal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<Node>();
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      const changes = body.status.capacity;
      patches.push({
        capacity: changes,
        answer: () => {
          for (const [key, value] of Object.entries(changes)) {
            if (value === null) delete capacity[key];
            else capacity[key] = value;
          }
          version++;
          resolve(node());
        },
        fail: () => reject(new Error("connection reset")),
      });
      return promise;
    },
  } as unknown as KubeClient;
}

const BOOKMARK = { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } };
const key = (bridge: string): string => `bridge.network.kubevirt.io/${bridge}`;

function add(index: number, name: string): void {
  links.apply({ event: "link", index, name, kind: "bridge", master: 0, mac: "", permanentMac: undefined });
  links.apply({ event: "synced" });
  publisher.changed();
}

async function patch(number: number): Promise<OpenPatch> {
  await vi.waitFor(() => expect(patches).toHaveLength(number));
  return patches[number - 1] as OpenPatch;
}

describe("the lag of a change of the bridges", () => {
  it("is the time until its own patch is answered, also where it comes during another one", async () => {
    add(1, "br1");
    const first = await patch(1);
    await clock.advance(1000);
    add(2, "br2");
    await clock.advance(500);
    expect(publisher.pendingMs).toBe(1500);
    first.answer();
    const second = await patch(2);
    expect(second.capacity).toEqual({ [key("br2")]: "1k" });
    expect(publisher.pendingMs).toBe(500);
    await clock.advance(250);
    second.answer();
    await vi.waitFor(() => expect(lags.slice(0, 2)).toEqual([1500, 750]));
    expect(publisher.pendingMs).toBe(0);
  });

  it("is that of the oldest change where patches failed", async () => {
    add(1, "br1");
    const first = await patch(1);
    await clock.advance(1000);
    add(2, "br2");
    first.fail();
    await vi.waitFor(() => expect(publisher.readiness).toContain("connection reset"));
    expect(publisher.pendingMs).toBe(1000);
    await clock.advance(RETRY_MS);
    const second = await patch(2);
    expect(second.capacity).toEqual({ [key("br1")]: "1k", [key("br2")]: "1k" });
    second.answer();
    await vi.waitFor(() => expect(lags[0]).toBe(1000 + RETRY_MS));
    expect(publisher.pendingMs).toBe(0);
  });

  it("is that of no change where somebody else wrote the node", async () => {
    add(1, "br1");
    (await patch(1)).answer();
    await vi.waitFor(() => expect(lags[0]).toBe(0));
    const object = { metadata: { name: "node-a", uid: "u", resourceVersion: "9" }, status: { capacity: {} } };
    tell({ type: "MODIFIED", object });
    await settle();
    await clock.advance(MIN_PATCH_INTERVAL_MS);
    const second = await patch(2);
    await clock.advance(300);
    expect(publisher.pendingMs).toBe(300);
    second.answer();
    await vi.waitFor(() => expect(lags.at(-1)).toBeUndefined());
    expect(lags[0]).toBe(0);
  });
});

describe("the time without an answer of the API server", () => {
  it("is that of the watch, also where no change waits", async () => {
    add(1, "br1");
    (await patch(1)).answer();
    await vi.waitFor(() => expect(lags[0]).toBe(0));
    expect(publisher.unansweredMs).toBe(0);
    await clock.advance(5000);
    expect([publisher.pendingMs, publisher.unansweredMs]).toEqual([0, 5000]);
    tell(BOOKMARK);
    await vi.waitFor(() => expect(publisher.unansweredMs).toBe(0));
  });

  it("is that of a patch, also where the watch goes on", async () => {
    add(1, "br1");
    const first = await patch(1);
    await clock.advance(5000);
    tell(BOOKMARK);
    await settle();
    expect(publisher.unansweredMs).toBe(5000);
    first.answer();
    await vi.waitFor(() => expect(publisher.unansweredMs).toBe(0));
  });
});

const refusal = (status: number, reason: string, message: string) => new ApiError({ status, reason, message });

describe("a patch that fails", () => {
  it.each([
    [refusal(403, "Forbidden", "no right."), "no right. Restore the ClusterRole bridge-marker-cr, or", true],
    [refusal(409, "Conflict", "changed"), "changed. Somebody else writes this Node all the time", true],
    [refusal(422, "Invalid", "bad name"), "bad name. Correct what the API server refuses", true],
    [refusal(429, "TooManyRequests", "busy"), "busy. Look at the API server", false],
    [refusal(503, "ServiceUnavailable", "down"), "down. Look at the API server", false],
    [new ConnectionError("refused", { written: false }), "refused. Look at the API server", false],
    ["text", "text. Look at the API server", false],
  ])("with %s is told with its cause and what to do", (error, text, isAnAnswer) => {
    expect(publishFailure("node-a", error)).toContain(`the bridges of Node node-a can't be published: ${text}`);
    expect(isAnswer(error)).toBe(isAnAnswer);
  });
});
