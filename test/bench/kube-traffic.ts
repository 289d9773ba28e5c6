/** What this process asks an API server for, counted below its client: ours is built on node:https, the others on undici. */

import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";

export interface Traffic {
  readonly lists: number;
  readonly watches: number;
  /** Without TLS, as it came: compressed or not. */
  readonly receivedMb: number;
  /** Collections of the whole heap. */
  readonly fullCollections: number;
  /** Of the main thread, for collections of any kind. */
  readonly collectingMs: number;
}

type GarbageCollection = PerformanceEntry & { readonly detail: { readonly kind: number } };

/** From now on. The returned function gives the sums so far. */
export function countTraffic(): () => Traffic {
  const sockets = new Set<Socket>();
  let [lists, watches, fullCollections, collectingMs] = [0, 0, 0, 0];
  subscribe("undici:client:connected", (message) => {
    sockets.add((message as { socket: Socket }).socket);
  });
  const count = ({ path }: { readonly path: string }): void => {
    if (path.includes("watch=true")) watches++;
    else lists++;
  };
  subscribe("undici:request:create", (message) => count((message as { request: { path: string } }).request));
  subscribe("http.client.request.start", (message) => {
    const { request } = message as { request: ClientRequest };
    count(request);
    // It is published once the headers are out, which is after the request got its socket.
    if (request.socket === null) request.once("socket", (socket) => sockets.add(socket));
    else sockets.add(request.socket);
  });
  new PerformanceObserver((collections) => {
    for (const collection of collections.getEntries() as GarbageCollection[]) {
      collectingMs += collection.duration;
      if (collection.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) fullCollections++;
    }
  }).observe({ entryTypes: ["gc"] });
  return () => {
    const received = [...sockets].reduce((bytes, socket) => bytes + socket.bytesRead, 0);
    return { lists, watches, receivedMb: received / 1e6, fullCollections, collectingMs };
  };
}

/** What came to be between the two. */
export function trafficSince(before: Traffic, after: Traffic): Traffic {
  const since = (name: keyof Traffic) => after[name] - before[name];
  return {
    lists: since("lists"),
    watches: since("watches"),
    receivedMb: since("receivedMb"),
    fullCollections: since("fullCollections"),
    collectingMs: since("collectingMs"),
  };
}
