/** Lets processes that wait for another one's build show how far that is. */
import { readFileSync, writeFileSync } from "node:fs";
import type { BuildProgress } from "./build-progress.ts";

type Report = (progress: BuildProgress) => void;

const POLL_MS = 500;

/** Reports to `next` what is new, and leaves it in the file for those who wait. */
export function publish(file: string, next: Report): Report {
  let last = "";
  return (progress) => {
    const text = JSON.stringify(progress);
    if (text === last) return;
    last = text;
    writeFileSync(file, text);
    next(progress);
  };
}

/** Reports what the building process says, until it is disposed of. */
export function followOther(file: string, next: Report): Disposable {
  const look = (): void => next({ ...readProgress(file), phase: "waiting for another build" });
  look();
  const timer = setInterval(look, POLL_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function readProgress(file: string): Omit<BuildProgress, "phase"> {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as BuildProgress;
  } catch {
    return { percent: 0 }; // not there yet, or just being written
  }
}
