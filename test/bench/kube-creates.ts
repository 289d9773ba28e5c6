/** Creates by the client against the same requests by bare undici, taking turns. */

import { Pool } from "undici";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { Credentials } from "../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";

const NAMESPACE = "default";
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

export interface CreateTimes {
  readonly ours: readonly number[];
  readonly peer: readonly number[];
}

/** Milliseconds for `count` creates with `inFlight` at once, one sample a round and side. */
export async function measureCreates(
  client: KubeClient,
  credentials: Credentials,
  options: { readonly count: number; readonly inFlight: number; readonly rounds: number },
): Promise<CreateTimes> {
  const { tls, headers } = await credentials.current();
  const pool = new Pool(credentials.server, { connections: options.inFlight, connect: { ...tls }, pipelining: 1 });
  const peerHeaders = { ...headers, "content-type": "application/json", accept: "application/json" };
  const bare = async (name: string): Promise<void> => {
    const { statusCode, body } = await pool.request({
      method: "POST",
      path: PATH,
      headers: peerHeaders,
      body: JSON.stringify(configMap(name)),
    });
    const answer = await body.json();
    if (statusCode !== 201) throw new Error(`POST ${PATH}: ${statusCode} ${JSON.stringify(answer)}`);
  };
  const through = async (name: string): Promise<void> => {
    await client.create(RESOURCES.configMaps, configMap(name));
  };
  const ours: number[] = [];
  const peer: number[] = [];
  try {
    for (let round = -1; round < options.rounds; round++) {
      // Who goes second finds a warmer server: they change places.
      const sides: [number[], (name: string) => Promise<void>][] = [
        [ours, through],
        [peer, bare],
      ];
      for (const [samples, create] of round % 2 === 0 ? sides : sides.reverse()) {
        const ms = await timed(options, (index) => create(`bench-${index}`));
        if (round >= 0) samples.push(ms);
        await client.raw("DELETE", PATH, { query: { labelSelector: "bench=creates" }, timeoutMs: 120_000 });
      }
    }
  } finally {
    await pool.destroy();
  }
  return { ours, peer };
}

function configMap(name: string) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: NAMESPACE, name, labels: { bench: "creates" } },
    data: { text: "x".repeat(300) },
  };
}

async function timed(
  { count, inFlight }: { readonly count: number; readonly inFlight: number },
  create: (index: number) => Promise<void>,
): Promise<number> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await create(index);
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return performance.now() - startedMs;
}
