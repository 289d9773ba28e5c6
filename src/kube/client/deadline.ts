/** A signal that aborts with the caller's or after a time. Disposing of it leaves no listener. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** True when the time ended it, not the caller. */
  readonly expired: boolean;
}

export function deadline(timeoutMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const onAbort = () => controller.abort(parent?.reason);
  const timer = setTimeout(() => {
    expired = true;
    controller.abort(new DOMException(`no answer within ${timeoutMs} ms`, "TimeoutError"));
  }, timeoutMs);
  if (parent?.aborted) {
    onAbort();
  } else {
    parent?.addEventListener("abort", onAbort, { once: true });
  }
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      parent?.removeEventListener("abort", onAbort);
    },
  };
}
