import { type KubeConfig, Watch } from "@kubernetes/client-node";
import type { ApiObject } from "./virtual-machine.ts";

/**
 * Watches several collections until the first of their watches ends, for whatever reason: a reset, an error, or the 30 s
 * of silence that client-node allows. `tell` gets every object that is there, and each that changes or goes. Whoever
 * begins the next round at once so sees all objects again twice a minute, which repairs what was missed; client-node's
 * informer would stop at the first reset.
 */
export async function watchRound(
  config: KubeConfig,
  paths: readonly string[],
  tell: (object: ApiObject) => void,
  signal: AbortSignal,
): Promise<void> {
  const watch = new Watch(config);
  const ended = Promise.withResolvers<void>();
  const end = (): void => ended.resolve();
  signal.addEventListener("abort", end, { once: true });
  const watches = paths.map((path) => watch.watch(path, {}, (type, object) => type !== "ERROR" && tell(object), end));
  await ended.promise;
  signal.removeEventListener("abort", end);
  for (const request of await Promise.all(watches)) request.abort();
}
