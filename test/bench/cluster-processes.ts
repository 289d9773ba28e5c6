/** The product's processes in the pods of process nodes: what they use and receive. */

import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { promisify } from "node:util";
import { cpuMsOf, megabytesOf } from "../support/process-usage.ts";

const HEALTH_PORT = 8081;
const MAX_METRICS_BYTES = 16 * 1024 * 1024;

export interface Sample {
  readonly cpuMs: number;
  readonly residentMb: number;
  readonly peakMb: number;
  /** All that its pod's network received, TLS included. */
  readonly receivedMb: number;
  readonly watchEvents: number;
  readonly reconciles: number;
}

/** One process of a pod. */
export class PodProcess {
  readonly pid: number;
  readonly pod: string;

  constructor(pid: number, pod: string) {
    this.pid = pid;
    this.pod = pod;
  }

  async sample(): Promise<Sample> {
    const metrics = await this.metrics();
    return {
      cpuMs: cpuMsOf(this.pid),
      residentMb: megabytesOf(this.pid),
      peakMb: megabytesOf(this.pid, "VmHWM"),
      receivedMb: Number(/eth0:\s*(\d+)/.exec(read(this.pid, "net/dev"))?.[1]) / 1e6,
      watchEvents: sum(metrics, "informer_watch_events_total"),
      reconciles: sum(metrics, "workqueue_adds_total"),
    };
  }

  async metrics(): Promise<string> {
    // Plain HTTP shows them to the pod itself only.
    const print = `fetch("http://127.0.0.1:${HEALTH_PORT}/metrics").then((answer) => answer.text()).then(console.log)`;
    const enter = ["--target", String(this.pid), "--user", "--preserve-credentials", "--net", "--"];
    const options = { maxBuffer: MAX_METRICS_BYTES };
    const { stdout } = await promisify(execFile)("nsenter", [...enter, process.execPath, "-e", print], options);
    return stdout;
  }
}

/** Sum of a metric over its labels. */
export function sum(metrics: string, name: string): number {
  const lines = metrics.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** What came to be between the two; of memory the second. */
export function since(before: Sample, after: Sample): Sample {
  const { residentMb, peakMb } = after;
  const grown = (name: keyof Sample): number => after[name] - before[name];
  return {
    ...{ residentMb, peakMb },
    cpuMs: grown("cpuMs"),
    receivedMb: grown("receivedMb"),
    watchEvents: grown("watchEvents"),
    reconciles: grown("reconciles"),
  };
}

/** Those below this process that run `entry`, by the name of their pod. */
export function findProcesses(entry: string): PodProcess[] {
  return findPids(entry).flatMap((pid) => {
    try {
      const pod = read(pid, "environ")
        .split("\0")
        .find((line) => line.startsWith("POD_NAME="));
      return pod === undefined ? [] : [new PodProcess(pid, pod.slice("POD_NAME=".length))];
    } catch {
      // It has ended.
      return [];
    }
  });
}

/** The processes below this one that run `entry`. */
function findPids(entry: string): number[] {
  return descendants(process.pid).filter((pid) => {
    try {
      const isNode = basename(readlinkSync(`/proc/${pid}/exe`)) === "node";
      const args = read(pid, "cmdline").split("\0");
      return isNode && args.some((argument) => argument.endsWith(`/${entry}`));
    } catch {
      return false;
    }
  });
}

const read = (pid: number, file: string): string => readFileSync(`/proc/${pid}/${file}`, "utf8");

function descendants(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return read(pid, `task/${task}/children`).split(" ").filter(Boolean).map(Number);
    } catch {
      return [];
    }
  });
  return children.flatMap((child) => {
    try {
      return [child, ...descendants(child)];
    } catch {
      return [child];
    }
  });
}
