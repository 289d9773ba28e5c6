import { signal } from "@preact/signals";

/** Beats when views have to ask again. Nothing beats while nobody looks at the page. */
export const pulse = signal(0);

/** For ages of things: the time of the last beat of the clock, in ms. */
export const nowMs = signal(Date.now());

const PULSE_MS = 4_000;
const CLOCK_MS = 1_000;

/** Never ends: the page has one pulse as long as it is open. */
export function startPulse(): void {
  const isVisible = (): boolean => document.visibilityState === "visible";
  const beat = (): void => {
    if (isVisible()) pulse.value += 1;
  };
  setInterval(beat, PULSE_MS);
  setInterval(() => {
    if (isVisible()) nowMs.value = Date.now();
  }, CLOCK_MS);
  document.addEventListener("visibilitychange", beat);
}
