/**
 * Child process of benchmarks: an HTTPS server that answers AdmissionReviews. `echo` is bare Node and says yes to whatever
 * it parses; `pool` is our server with the production webhooks on claims in memory. Tells
 * its port.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { silentLog } from "../../src/kube/log.ts";
import { RouteServer } from "../../src/kube/server/route-server.ts";
import { ClaimLedger } from "../../src/mac-pool/admission/claim-ledger.ts";
import { OwnerRedaction } from "../../src/mac-pool/admission/owner-redaction.ts";
import { routeWebhooks } from "../../src/mac-pool/admission/routes.ts";
import { RunExclusively } from "../../src/mac-pool/admission/run-exclusively.ts";
import { StartTimes } from "../../src/mac-pool/admission/start-times.ts";
import type { ClaimStore } from "../../src/mac-pool/claims/claim-store.ts";
import { Caches } from "../../src/mac-pool/cluster/caches.ts";
import { PoolMetrics } from "../../src/mac-pool/metrics.ts";
import { PoolIndex } from "../../src/mac-pool/pools/pool-index.ts";
import { poolSettings } from "../mac-pool/pool-settings.ts";

const memoryStore = (): ClaimStore => ({
  /** An API server that grants every write at once. */
  create: async (claim: MACClaim) => claim,
  update: async (claim: MACClaim) => claim,
  read: async () => undefined,
  remove: async () => {},
});

const [, , side = "echo", certFile = "", keyFile = ""] = process.argv;
const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
const port = side === "echo" ? await echo() : await pool();
process.send?.({ port });
process.on("disconnect", () => process.exit(0));

function echo(): Promise<number> {
  const server = createServer(pair, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { request: asked } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const body = JSON.stringify({
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response: { uid: asked.uid, allowed: true },
      });
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
      response.end(body);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

async function pool(): Promise<number> {
  const index = new PoolIndex();
  index.setPool(poolSettings(0x02_00_00_00_00_00, 2 ** 40));
  const store = memoryStore();
  const clock = systemClock;
  // Never started: a look-up in empty caches takes as long as one that finds nothing.
  const client = {} as KubeClient;
  const { objectsListing, policyIn, ownersOf, networks } = new Caches({
    client,
    log: silentLog,
    metrics: new Registry(),
    excludedNamespaces: [],
  });
  const ledger = new ClaimLedger({
    store,
    index,
    clock,
    random: Math.random,
    policyIn,
    objectsListing,
    isAwaited: () => false,
    networks,
    addressesOfInterface: () => [],
    log: silentLog,
    onGranted: () => {},
  });
  const macsOfMachine = { cached: () => undefined, live: async () => undefined };
  const no = async (): Promise<boolean> => false;
  const startingMs = (): number => 75_000;
  const times = new StartTimes({ clock, startingMs, ownersOf: () => [] });
  const starts = new RunExclusively({
    store,
    isRunning: no,
    isReceiver: no,
    isManaged: () => true,
    objectsListing,
    networks,
    times,
    clock,
    startingMs,
    isAwaited: () => false,
  });
  const namespaces = { labelsOf: () => ({}) };
  const parts = {
    ledger,
    starts,
    policyIn,
    ownersOf,
    hasReceived: no,
    onUnjudged: () => {},
    macsOfMachine,
    networks,
    index,
    namespaces,
    log: silentLog,
  };
  const server = new RouteServer({
    port: 0,
    host: "127.0.0.1",
    tls: { current: () => pair, onChange: () => () => {} },
  });
  routeWebhooks(server, {
    parts,
    caches: { hasSynced: true, whenSynced: async () => {} },
    names: new OwnerRedaction({ isAllowed: no }, silentLog),
    metrics: new PoolMetrics(
      new Registry(),
      index,
      () => undefined,
      () => false,
    ),
    clock,
    onDenied: () => {},
  });
  return server.listen();
}
