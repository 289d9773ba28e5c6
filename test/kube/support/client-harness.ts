/** A scripted server and a client of it: anew for each test of a file that calls forEachTest(). */
import { afterEach, beforeEach } from "vitest";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { ScriptedServer } from "./scripted-server.ts";

export const REF = { namespace: "default", name: "a" };
export const PATH = "/api/v1/namespaces/default/configmaps/a";

export let server: ScriptedServer;
export let client: KubeClient;

/** Called by the file itself: the next file of the same worker finds this module loaded already. */
export function forEachTest(): void {
  beforeEach(async () => {
    server = await ScriptedServer.start();
    client = new KubeClient({ credentials: server.credentials(), random: () => 0, userAgent: "suite/1" });
  });

  afterEach(async () => {
    await client[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
}

export const get = (options: { signal?: AbortSignal; timeoutMs?: number } = {}) =>
  client.get(RESOURCES.configMaps, REF, options);

/** What the promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("expected a failure");
    },
    (error) => error,
  );
}

/** Another server in the place of the one that the test ended itself. */
export function replaceServer(other: ScriptedServer): void {
  server = other;
}

/** A client with other options for the rest of the test. */
export function replaceClient(other: KubeClient): void {
  client = other;
}
