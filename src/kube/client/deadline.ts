/** A signal that aborts with the caller's or after a time, and can be taken down without leaving a listener behind. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** True once the time, not the caller, ended it. */
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
