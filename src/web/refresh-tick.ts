import { signal } from "@preact/signals";

/** Counts up when views have to ask again, not while nobody looks at the page. */
export const refreshTick = signal(0);

/** For ages of things: the time of the last tick of the clock, in ms. */
export const nowMs = signal(Date.now());

const REFRESH_MS = 4_000;
const CLOCK_MS = 1_000;

/** Never ends: one timer refreshes the page as long as it is open. */
export function startRefreshTick(): void {
  const isVisible = (): boolean => document.visibilityState === "visible";
  const tick = (): void => {
    if (isVisible()) refreshTick.value += 1;
  };
  setInterval(tick, REFRESH_MS);
  setInterval(() => {
    if (isVisible()) nowMs.value = Date.now();
  }, CLOCK_MS);
  document.addEventListener("visibilitychange", tick);
}
