import { secondsInWords } from "../api/forecast-text.ts";

/** Numbers and times as people read them. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Age as kubectl prints it in tables: `45s`, `2m`, `3h`, `12d`. */
export function shortAge(sinceMs: number, nowMs: number): string {
  const ageMs = Math.max(0, nowMs - sinceMs);
  if (!Number.isFinite(ageMs)) return "";
  if (ageMs < 2 * MINUTE_MS) return `${Math.floor(ageMs / SECOND_MS)}s`;
  if (ageMs < 2 * HOUR_MS) return `${Math.floor(ageMs / MINUTE_MS)}m`;
  if (ageMs < 2 * DAY_MS) return `${Math.floor(ageMs / HOUR_MS)}h`;
  return `${Math.floor(ageMs / DAY_MS)}d`;
}

/** A span in words: `2 minutes`, `1 hour`. */
export const spanInWords = (spanMs: number): string => secondsInWords(spanMs / SECOND_MS);

/** Local time as `2026-11-21 09:14:03`. */
export function localTime(timeMs: number): string {
  const time = new Date(timeMs);
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** `16,777,216`. */
export function withCommas(number: number): string {
  return number.toLocaleString("en-US");
}
