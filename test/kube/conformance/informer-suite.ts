import { Registry } from "prom-client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import { eventually } from "../../support/eventually.ts";
import { describeObject, HandlerRecorder } from "../support/handler-recorder.ts";
import { WIDGETS } from "../support/real-api-server.ts";
import type { Backend, Widget } from "./backend.ts";
import * as faults from "./faults.ts";
import { type Fault, Front, type Kind } from "./front.ts";

const namespace = "default";
const SYNC: readonly Kind[] = ["list", "more", "watch"];

/** A fault, which request meets it, and how many in a row. */
type Case = readonly [name: string, kinds: readonly Kind[], fault: () => Fault, times?: number];

const AT_START: readonly Case[] = [
  ["a reset before the headers", SYNC, () => faults.resetBeforeHeaders, 3],
  ["403", SYNC, () => faults.refuse(403, "Forbidden"), 3],
  ["401, then a new token", SYNC, () => faults.refuse(401, "Unauthorized")],
  ["429 with Retry-After", SYNC, () => faults.refuse(429, "TooManyRequests", { "retry-after": "0" }), 3],
  ["429 without Retry-After", SYNC, () => faults.refuse(429, "TooManyRequests")],
  ["503 with Retry-After", SYNC, () => faults.refuse(503, "ServiceUnavailable", { "retry-after": "0" }), 3],
  ["a storm of 500", SYNC, () => faults.refuse(500, "InternalError"), 10],
  ["504", SYNC, () => faults.refuse(504, "Timeout"), 2],
  ["a page of a proxy", SYNC, () => faults.badGateway, 2],
  ["an answer that is not JSON", SYNC, () => faults.notJson, 2],
  ["410", SYNC, () => faults.refuse(410, "Expired"), 2],
  ["slow pages", SYNC, () => faults.slowly(512, 1)],
  ["gzip", SYNC, () => faults.compressed],
  ["a connection that ends after each answer", ["list", "more"], () => faults.closeAfterAnswer, 3],
  ["a continue token that expires", ["more"], () => faults.refuse(410, "Expired")],
  ["a reset between pages", ["more"], () => faults.resetBeforeHeaders, 4],
];

const IN_THE_STREAM: readonly Case[] = [
  ["a reset between events", ["watch"], () => faults.resetAt(1), 3],
  ["a reset in the middle of a line", ["watch"], () => faults.cutInsideLine(1, "reset"), 2],
  ["an end in the middle of a line", ["watch"], () => faults.cutInsideLine(1, "end"), 2],
  ["an end in order", ["watch"], () => faults.endAt(0), 3],
  ["410 in the stream", ["watch"], () => faults.errorAt(1, 410, "Expired"), 2],
  ["500 in the stream", ["watch"], () => faults.errorAt(1, 500, "InternalError"), 2],
  ["504 in the stream", ["watch"], () => faults.errorAt(0, 504, "Timeout"), 2],
  ["a line that is not JSON", ["watch"], () => faults.garbageAt(1), 2],
  ["silence after an event", ["watch"], () => faults.silentAt(0)],
  ["silence from the beginning", ["watch"], () => faults.silence],
  ["every event twice", ["watch"], () => faults.everyLineTwice],
  ["an old event after newer ones", ["watch"], faults.oldEventsAgain],
  ["objects of 10 MB", ["watch"], () => faults.huge],
];

/** The watch that follows is the same as after pages. */
const AT_ONE_LIST = AT_START.filter(([, kinds]) => kinds === SYNC);

/** What an informer must get over, whatever API server is behind the front and whichever way it gets its objects. */
export function informerSuite(name: string, start: () => Promise<Backend>): void {
  describe.each([
    {
      way: "by pages and watch",
      wholeList: false,
      cases: [...AT_START, ...IN_THE_STREAM],
      calm: ["list", "more", "more", "watch"],
    },
    { way: "by one list and watch", wholeList: true, cases: AT_ONE_LIST, calm: ["list", "watch"] },
  ])(`informer, ${name}, $way:`, ({ way, wholeList, cases, calm }) => {
    let backend: Backend;
    let front: Front;
    let client: KubeClient;
    let writer: KubeClient;
    let writerFront: Front;
    let stop: AbortController;
    let label: string;
    let tests = 0;

    beforeAll(async () => {
      backend = await start();
      writerFront = await Front.start(backend);
      writer = new KubeClient({ credentials: writerFront.credentials });
    });

    afterAll(async () => {
      await writer?.[Symbol.asyncDispose]();
      await writerFront?.[Symbol.asyncDispose]();
      await backend?.[Symbol.asyncDispose]();
    });

    beforeEach(async () => {
      front = await Front.start(backend);
      client = new KubeClient({ credentials: front.credentials, watchSilenceMs: 300, random: () => 0 });
      stop = new AbortController();
      label = `${way.replaceAll(" ", "-").toLowerCase()}-${tests++}`;
    });

    afterEach(async () => {
      stop.abort();
      await client[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
    });

    const ref = (widget: string) => ({ namespace, name: `${label}-${widget}` });
    const create = (widget: string) =>
      writer.create(WIDGETS, { metadata: { ...ref(widget), labels: { test: label } }, spec: { size: 1 } });
    const change = (widget: string, size: number) =>
      writer.patch(WIDGETS, ref(widget), { type: "merge", body: { spec: { size } } });

    function follow(): { informer: Informer<Widget>; recorder: HandlerRecorder<Widget> } {
      const informer = new Informer<Widget>({
        client,
        resource: WIDGETS,
        metrics: new Registry(),
        namespace,
        labelSelector: `test=${label}`,
        rules: { wholeList, backoff: { baseMs: 4, maxMs: 20 }, shortWatchMs: 50, pageSize: 2 },
      });
      const recorder = new HandlerRecorder<Widget>();
      informer.on(recorder);
      informer.start(stop.signal);
      return { informer, recorder };
    }

    async function untilEqual({ informer, recorder }: ReturnType<typeof follow>): Promise<void> {
      const { items } = await writer.list(WIDGETS, { namespace, labelSelector: `test=${label}` });
      const truth = items.map(describeObject).sort();
      await eventually("the cache is the server's", () => {
        const cache = informer.list().map(describeObject).sort();
        return informer.hasSynced && cache.join() === truth.join();
      });
      expect(recorder.believes).toEqual(truth);
      expect(recorder.contradictions).toEqual([]);
    }

    async function writeABit(): Promise<void> {
      await change("a", 2);
      await create("late");
      await writer.delete(WIDGETS, ref("b"));
      await change("late", 2);
      await change("a", 3);
    }

    for (const [fault, kinds, make, times = 1] of cases) {
      test(fault, async () => {
        await Promise.all(["a", "b", "c", "d", "e"].map(create));
        for (let time = 0; time < times; time++) {
          front.once(kinds, make());
        }
        const following = follow();
        await following.informer.whenSynced();
        await writeABit();
        await untilEqual(following);
        await writeMore();
        await untilEqual(following);
        expect(front.pending).toBe(0);
      });
    }

    async function writeMore(): Promise<void> {
      await writer.delete(WIDGETS, ref("a"));
      await create("a");
      await change("c", 9);
    }

    test("a bookmark and nothing else moves the place to watch from", async () => {
      await create("a");
      const following = follow();
      await following.informer.whenSynced();
      await untilEqual(following);
      const elsewhere = await writer.create(WIDGETS, {
        metadata: { ...ref("z"), labels: { test: "other" } },
        spec: {},
      });
      const bookmark = { kind: "Widget", metadata: { resourceVersion: elsewhere.metadata.resourceVersion } };
      front.once(["watch"], async ({ response }) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(`${JSON.stringify({ type: "BOOKMARK", object: bookmark })}\n`);
      });
      front.resetAll();
      await eventually("a watch from the bookmark", () =>
        front.requests.some(({ path }) => path.includes(`resourceVersion=${elsewhere.metadata.resourceVersion}`)),
      );
      await change("a", 5);
      await untilEqual(following);
    });

    test("a certificate that changed, and connections that all break at once", async () => {
      await create("a");
      const following = follow();
      await following.informer.whenSynced();
      await front.changeCertificate();
      await change("a", 2);
      await untilEqual(following);
    });

    test("in good weather no more requests than it takes", async () => {
      await Promise.all(["a", "b", "c", "d", "e"].map(create));
      const following = follow();
      await following.informer.whenSynced();
      await eventually("the watch is open", () => front.count("watch") > 0);
      await writeABit();
      await untilEqual(following);
      const kinds = front.requests.map(({ kind }) => kind);
      expect(kinds).toEqual(calm);
    });
  });
}
