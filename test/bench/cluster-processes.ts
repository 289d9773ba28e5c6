/** The product's processes in the pods of process nodes: what they use and receive. */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { DEFAULT_NAMESPACE } from "../../src/api/names.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

const TICK_MS = 10;
const HEALTH_PORT = 8081;

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
  readonly #client: KubeClient;

  constructor(pid: number, pod: string, client: KubeClient) {
    this.pid = pid;
    this.pod = pod;
    this.#client = client;
  }

  async sample(): Promise<Sample> {
    const metrics = await this.metrics();
    const status = read(this.pid, "status");
    const fields = read(this.pid, "stat").split(") ")[1]?.split(" ") ?? [];
    return {
      cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
      residentMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
      peakMb: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024,
      receivedMb: Number(/eth0:\s*(\d+)/.exec(read(this.pid, "net/dev"))?.[1]) / 1e6,
      watchEvents: sum(metrics, "informer_watch_events_total"),
      reconciles: sum(metrics, "workqueue_adds_total"),
    };
  }

  async metrics(): Promise<string> {
    const path = `/api/v1/namespaces/${DEFAULT_NAMESPACE}/pods/${this.pod}:${HEALTH_PORT}/proxy/metrics`;
    const { status, body } = await this.#client.raw("GET", path);
    if (status !== 200) throw new Error(`metrics of pod ${this.pod}: the API server answered ${status}`);
    return String(body);
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
export function findProcesses(entry: string, client: KubeClient): PodProcess[] {
  return findPids(entry).flatMap((pid) => {
    try {
      const pod = read(pid, "environ")
        .split("\0")
        .find((line) => line.startsWith("POD_NAME="));
      return pod === undefined ? [] : [new PodProcess(pid, pod.slice("POD_NAME=".length), client)];
    } catch {
      // It has ended.
      return [];
    }
  });
}

/** The processes below this one that run `entry`. */
export function findPids(entry: string): number[] {
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
