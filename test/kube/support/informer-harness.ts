/** A scripted server, a client of it and what an informer reports: anew for each test of a file that calls forEachTest(). */
import { Registry } from "prom-client";
import { afterEach, beforeEach } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Informer, type InformerOptions } from "../../../src/kube/informer/informer.ts";
import { eventually } from "../../support/eventually.ts";
import { HandlerRecorder } from "./handler-recorder.ts";
import { configMap } from "./objects.ts";
import { type Exchange, ScriptedServer } from "./scripted-server.ts";

export const LIST = /^\/api\/v1\/configmaps\?limit=500$/;
export const WHOLE_LIST = /^\/api\/v1\/configmaps\?limit=0$/;
export const WATCH = /^\/api\/v1\/configmaps\?watch=true/;
export const BY_PAGES = { wholeList: false } as const;

export let server: ScriptedServer;
export let client: KubeClient;
export let stop: AbortController;
export let recorder: HandlerRecorder<ConfigMap>;

/** Called by the file itself: the next file of the same worker finds this module loaded already. */
export function forEachTest(): void {
  beforeEach(async () => {
    server = await ScriptedServer.start();
    client = new KubeClient({ credentials: server.credentials(), watchSilenceMs: 400 });
    stop = new AbortController();
    recorder = new HandlerRecorder();
  });

  afterEach(async () => {
    stop.abort();
    await client[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
}

/** An informer that waits for milliseconds only, and lists by pages unless the rules say otherwise. */
export function start(options: Partial<InformerOptions<ConfigMap>> = {}): Informer<ConfigMap> {
  const rules = { ...BY_PAGES, backoff: { baseMs: 4, maxMs: 20 }, absentRetryMs: 5, ...options.rules };
  const informer = new Informer({
    client,
    resource: RESOURCES.configMaps,
    metrics: new Registry(),
    ...options,
    rules,
  });
  informer.on(recorder);
  informer.start(stop.signal);
  return informer;
}

/** Answers the list, and gives the watch that follows. */
export async function synced(
  items: readonly ConfigMap[] = [configMap("a", "5")],
  resourceVersion = "10",
): Promise<Exchange> {
  (await server.next("GET", LIST)).list(items, resourceVersion);
  const watch = await server.next("GET", WATCH);
  return watch.open();
}

export const got = (line: string) => eventually(`got "${line}"`, () => recorder.lines.includes(line));

/** Another server in the place of the one that the test ended itself. */
export function replaceServer(other: ScriptedServer): void {
  server = other;
}

/** A client with other options for the rest of the test. */
export function replaceClient(other: KubeClient): void {
  client = other;
}
