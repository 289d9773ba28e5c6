import { forecastText, secondsInWords } from "../api/forecast-text.ts";
import type { DaysToFullView } from "../mac-pool/inspection/rest/views.ts";

/** Numbers and times in words, as every view writes them. */

const NUMBER = new Intl.NumberFormat("en");

/** `16,777,216` */
export const count = (value: number): string => NUMBER.format(value);

/** `1 claim`, `2 claims` */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** `12 %`, `0.4 %`, `< 0.1 %`, and never 100 % of something that is not all of it. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0 %";
  if (part === whole) return "100 %";
  const value = (part / whole) * 100;
  if (value < 0.1) return "< 0.1 %";
  if (value > 99.9) return "> 99.9 %";
  return `${value < 10 ? value.toFixed(1) : Math.floor(value)} %`;
}

/** `2 minutes ago`, or `in 40 seconds` */
export function relativeTime(time: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(time)) / 1000;
  if (Number.isNaN(seconds)) return time;
  if (Math.abs(seconds) < 1) return "now";
  return seconds > 0 ? `${secondsInWords(seconds)} ago` : `in ${secondsInWords(-seconds)}`;
}

/** Of the reader's time zone: `2026-11-21 09:14:03` */
export function localTime(time: string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return time;
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
}

/** `Full in about 40 days (between 31 and 62 days). From ...`, or why that can't be told. */
export function fullness({ days, atLeast, atMost, reason }: DaysToFullView): string {
  return days === null || days === 0 ? reason : `Full in ${forecastText({ days, atLeast, atMost })}. ${reason}`;
}
