/** What this process asks an API server for, counted below its client: every client here is built on undici. */

import { subscribe } from "node:diagnostics_channel";
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
  const sockets: Socket[] = [];
  let [lists, watches, fullCollections, collectingMs] = [0, 0, 0, 0];
  subscribe("undici:client:connected", (message) => {
    sockets.push((message as { socket: Socket }).socket);
  });
  subscribe("undici:request:create", (message) => {
    const { path } = (message as { request: { path: string } }).request;
    if (path.includes("watch=true")) watches++;
    else lists++;
  });
  new PerformanceObserver((collections) => {
    for (const collection of collections.getEntries() as GarbageCollection[]) {
      collectingMs += collection.duration;
      if (collection.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) fullCollections++;
    }
  }).observe({ entryTypes: ["gc"] });
  return () => {
    const received = sockets.reduce((bytes, socket) => bytes + socket.bytesRead, 0);
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
