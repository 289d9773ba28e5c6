/** The operator as the image has it, in a process of its own with nothing but the rights of the release. */

import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { entryPoint, IMAGE_ENV, OPERATOR_NODE_FLAGS } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../../src/api/names.ts";
import { SERVICE_ACCOUNT_DIRECTORY } from "../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { Component, throwUncaught } from "../cluster/control-plane/component.ts";
import { isRoot } from "../cluster/requirements.ts";
import type { OperatorBed } from "../operator/support/operator-bed.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";

const IDENTITY = "operator-1";
const TOKEN_SECONDS = 7_200;
/** The files of the account where the kubelet mounts them, and nowhere else on this machine. */
const INTO_POD = 'mount -t tmpfs run /run && mkdir -p "$1" && cp "$2"/* "$1" && shift 2 && exec "$@"';

const unshareMounts = (): string[] => [
  ...["unshare", "--mount", "--propagation", "private"],
  ...(isRoot() ? [] : ["--user", "--map-root-user"]),
];

export class OperatorProcess implements AsyncDisposable {
  readonly #component: Component;
  readonly #healthPort: number;

  private constructor(component: Component, healthPort: number) {
    this.#component = component;
    this.#healthPort = healthPort;
  }

  /** `tree`: the image's root as a folder. A process that was killed is followed by one of the same name. */
  static async start({ controlPlane, admin }: OperatorBed, tree: string): Promise<OperatorProcess> {
    const account = join(controlPlane.directory, "operator-account");
    await mkdir(account, { recursive: true, mode: 0o700 });
    const asked = { spec: { audiences: [], expirationSeconds: TOKEN_SECONDS }, status: { token: "" } };
    const ref = { name: OPERATOR_NAME, namespace: DEFAULT_NAMESPACE };
    const { status } = await admin.createSubresource(RESOURCES.serviceAccounts, ref, "token", asked);
    await writeFile(join(account, "token"), status.token);
    await writeFile(join(account, "ca.crt"), controlPlane.authority.certificate);
    await writeFile(join(account, "namespace"), DEFAULT_NAMESPACE);
    const { hostname, port } = new URL(controlPlane.url);
    const healthPort = await freePort();
    const component = new Component({
      name: "operator",
      argv: [
        ...unshareMounts(),
        ...["sh", "-c", INTO_POD, "sh", SERVICE_ACCOUNT_DIRECTORY, account],
        ...[process.execPath, ...OPERATOR_NODE_FLAGS, join(tree, entryPoint("operator"))],
      ],
      logFile: join(controlPlane.directory, "operator.log"),
      env: {
        ...IMAGE_ENV,
        KUBERNETES_SERVICE_HOST: hostname,
        KUBERNETES_SERVICE_PORT: port,
        POD_NAME: IDENTITY,
        OPERATOR_NAMESPACE: DEFAULT_NAMESPACE,
        HEALTH_PORT: String(healthPort),
        METRICS_PORT: String(await freePort()),
      },
      onCrash: throwUncaught,
    });
    return new OperatorProcess(component, healthPort);
  }

  /** Resolves when its caches are filled. */
  async ready(): Promise<void> {
    const address = `http://127.0.0.1:${this.#healthPort}/readyz`;
    await eventually("the operator is ready", async () => (await fetch(address)).ok);
  }

  get residentMb(): number {
    return this.#megabytes("VmRSS");
  }

  /** Without what it shares with all processes of the same executable. */
  get privateMb(): number {
    return this.#megabytes("RssAnon");
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
