import type { KubeObject } from "../../../src/kube/client/resource.ts";

/** One request as a backend gets it. */
export interface BackendRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** What stands behind the front: a real API server or one in memory. Both serve Widgets. */
export interface Backend extends AsyncDisposable {
  handle(request: BackendRequest): Promise<BackendAnswer>;
}

export interface Widget extends KubeObject {
  readonly spec?: { readonly [field: string]: unknown };
  readonly status?: { readonly [field: string]: unknown };
}
