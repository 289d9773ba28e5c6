import { readFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { DEFAULT_NAMESPACE } from "../../../src/api/names.ts";
import { eventually } from "../../support/eventually.ts";
import { Component, throwUncaught } from "../control-plane/component.ts";
import type { Opened } from "./opening.ts";
import { kubectl, type Stage } from "./stage.ts";

const READER = "macpool-page";
const ROLE = "kubemacpool-view";
const TOKEN_LIFE = "24h";
const LIMIT_MS = 30_000;

/** The page as `kubectl macpool ui` serves it, until it is disposed of. */
export interface OfferedPage extends AsyncDisposable {
  readonly url: string;
}

/** Of an account that may read the pool, with a token. `tools`: the folder of the demo. */
export const pageKubeconfig = (tools: string): string => join(tools, "page.kubeconfig");

/** The administrator's kubeconfig has a client certificate, and the API server's service proxy passes on tokens only. */
export async function offerPage({ stage, tools }: Opened, signal: AbortSignal): Promise<OfferedPage> {
  const kubeconfig = pageKubeconfig(tools);
  await writeReader(stage, kubeconfig);
  const logFile = join(tools, "page.log");
  const argv = [process.execPath, join(tools, "kubectl-macpool"), "ui", "--no-browser"];
  const ui = new Component({
    name: "kubectl macpool ui",
    argv,
    logFile,
    env: { KUBECONFIG: kubeconfig, HOME: tools },
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

/** The cluster's kubeconfig with the token of an account that may read the pool. */
async function writeReader(stage: Stage, file: string): Promise<void> {
  const at = ["--namespace", DEFAULT_NAMESPACE];
  await kubectl(stage, ["create", "serviceaccount", READER, ...at]);
  const subject = `--serviceaccount=${DEFAULT_NAMESPACE}:${READER}`;
  await kubectl(stage, ["create", "clusterrolebinding", READER, `--clusterrole=${ROLE}`, subject]);
  const token = (await kubectl(stage, ["create", "token", READER, `--duration=${TOKEN_LIFE}`, ...at])).trim();
  await copyFile(stage.cluster.kubeconfig, file);
  await kubectl(stage, ["config", "set-credentials", READER, `--token=${token}`, `--kubeconfig=${file}`]);
  await kubectl(stage, ["config", "set-context", "--current", `--user=${READER}`, `--kubeconfig=${file}`]);
}
