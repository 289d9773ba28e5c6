/** The sides of the benchmark as processes, and what the API server says of their requests. */

import { type ChildProcess, fork } from "node:child_process";
import path from "node:path";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { askChild } from "./ask-child.ts";
import type { BenchContext } from "./bench.ts";
import type { Counts, SubjectStart, Synced } from "./kube-subject.ts";

export type Side = SubjectStart["side"];

export interface Setup {
  readonly context: BenchContext;
  readonly client: KubeClient;
  readonly etcdUrl: string;
  readonly connection: Pick<SubjectStart, "kubeconfig" | "server" | "tls">;
  readonly claims: number;
  readonly rounds: number;
  readonly seconds: number;
}

/** A side that is synced; it runs until it is disconnected. */
export async function start(setup: Setup, side: Side): Promise<[ChildProcess, Synced]> {
  const child = fork(path.join(import.meta.dirname, "kube-subject.ts"), { execArgv: ["--expose-gc"] });
  const message: SubjectStart = { side, ...setup.connection, claims: setup.claims };
  return [child, await askChild<Synced>(child, message)];
}

export const counts = (child: ChildProcess) => askChild<Counts>(child, "counts");

/** How many requests for MACClaims the API server has answered so far, watches when they end. */
export function answeredRequests(client: KubeClient): Promise<number> {
  return metric(client, /^apiserver_request_total\{.*resource="macclaims"/);
}

/** CPU time that the API server has used so far. */
export async function serverCpuMs(client: KubeClient): Promise<number> {
  return (await metric(client, /^process_cpu_seconds_total /)) * 1000;
}

/** Else the API server would do it during every second list, which then takes twice the CPU time, whoever asked. */
export async function collectServerGarbage(client: KubeClient): Promise<void> {
  const { status } = await client.raw("GET", "/debug/pprof/heap", { query: { gc: 1 } });
  if (status !== 200) throw new Error(`the API server does not collect its garbage: ${status}`);
}

/** Sum of the API server's metrics whose lines match. */
async function metric(client: KubeClient, line: RegExp): Promise<number> {
  const { body } = await client.raw("GET", "/metrics");
  const lines = String(body).split("\n");
  return lines
    .filter((each) => line.test(each))
    .reduce((sum, each) => sum + Number(each.slice(each.lastIndexOf(" ") + 1)), 0);
}
