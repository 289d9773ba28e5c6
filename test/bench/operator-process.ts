/** The operator as the image has it, in a process of its own with nothing but the rights of the release. */

import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { entryPoint } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE } from "../../src/api/names.ts";
import { Component, throwUncaught } from "../cluster/control-plane/component.ts";
import type { OperatorBed } from "../operator/support/operator-bed.ts";
import { freePort } from "../support/free-port.ts";

/** As in the operator's Deployment. */
const NODE_FLAGS = ["--max-semi-space-size=2"];
const IDENTITY = "operator-1";

export class OperatorProcess implements AsyncDisposable {
  readonly #component: Component;

  private constructor(component: Component) {
    this.#component = component;
  }

  /** `tree`: the image's root as a folder. A process that was killed is followed by one of the same name. */
  static async start({ controlPlane, cluster }: OperatorBed, tree: string): Promise<OperatorProcess> {
    const kubeconfig = join(controlPlane.directory, "operator.kubeconfig");
    await writeFile(kubeconfig, cluster.operatorKubeconfig, { mode: 0o600 });
    const ports = { HEALTH_PORT: String(await freePort()), METRICS_PORT: String(await freePort()) };
    const component = new Component({
      name: "operator",
      argv: [process.execPath, ...NODE_FLAGS, join(tree, entryPoint("operator"))],
      logFile: join(controlPlane.directory, "operator.log"),
      env: { KUBECONFIG: kubeconfig, POD_NAME: IDENTITY, OPERATOR_NAMESPACE: DEFAULT_NAMESPACE, ...ports },
      onCrash: throwUncaught,
    });
    return new OperatorProcess(component);
  }

  get residentMb(): number {
    return this.#megabytes("VmRSS");
  }

  get peakMb(): number {
    return this.#megabytes("VmHWM");
  }

  /** Kills it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#component[Symbol.asyncDispose]();
  }

  #megabytes(field: string): number {
    const status = readFileSync(`/proc/${this.#component.process.pid}/status`, "utf8");
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  }
}
