import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../support/eventually.ts";
import { Component, throwUncaught } from "../control-plane/component.ts";
import type { InstalledDemo } from "./installed-demo.ts";

const LIMIT_MS = 30_000;

/** The page as `kubectl macpool ui` serves it, until it is disposed of. */
export interface OfferedPage extends AsyncDisposable {
  readonly url: string;
}

export async function offerPage({ demo, tools }: InstalledDemo, signal: AbortSignal): Promise<OfferedPage> {
  const logFile = join(tools, "page.log");
  const argv = [process.execPath, join(tools, "kubectl-macpool"), "ui", "--no-browser"];
  const ui = new Component({
    name: "kubectl macpool ui",
    argv,
    logFile,
    env: { KUBECONFIG: demo.cluster.kubeconfig, HOME: tools },
    onCrash: throwUncaught,
  });
  const printed = () => /http:\/\/127\S+/.exec(readFileSync(logFile, "utf8"))?.[0];
  const wait = { limitMs: LIMIT_MS, signal, state: () => ui.logTail() };
  try {
    return { url: await eventually("the page", printed, wait), [Symbol.asyncDispose]: () => ui[Symbol.asyncDispose]() };
  } catch (error) {
    await ui[Symbol.asyncDispose]();
    throw error;
  }
}
