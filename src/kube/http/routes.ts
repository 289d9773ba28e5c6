import type { HttpHandler } from "./http-handler.ts";

export type RouteMatch =
  | { readonly type: "found"; readonly handler: HttpHandler }
  | { readonly type: "wrong-method"; readonly allowed: readonly string[] }
  | { readonly type: "unknown" };

interface Route {
  readonly method: string;
  readonly path: string;
  readonly prefix: boolean;
  readonly handler: HttpHandler;
}

/** Exact paths, and prefixes (`/web/*`) after them, the longest first. Method `*` takes any; GET serves HEAD. */
export class Routes {
  readonly #routes: Route[] = [];

  add(method: string, path: string, handler: HttpHandler): void {
    const prefix = path.endsWith("*");
    this.#routes.push({ method, path: prefix ? path.slice(0, -1) : path, prefix, handler });
    this.#routes.sort((one, other) => Number(one.prefix) - Number(other.prefix) || other.path.length - one.path.length);
  }

  match(method: string, path: string): RouteMatch {
    const wanted = method === "HEAD" ? "GET" : method;
    let allowed: string[] | undefined;
    for (const route of this.#routes) {
      if (route.prefix ? !path.startsWith(route.path) : path !== route.path) continue;
      if (route.method === "*" || route.method === wanted) return { type: "found", handler: route.handler };
      allowed ??= [];
      allowed.push(route.method);
    }
    return allowed === undefined ? { type: "unknown" } : { type: "wrong-method", allowed };
  }
}
