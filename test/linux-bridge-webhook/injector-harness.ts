/**
 * The process `linux-bridge-webhook` on a real API server, with the account, the rights and the webhook configuration that
 * the operator renders. A certificate of the test's authority stands in its Secret, as the cert manager writes it.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NETWORK_ATTACHMENT_DEFINITIONS } from "../../src/api/kinds.ts";
import { DEFAULT_NAMESPACE, LINUX_BRIDGE_WEBHOOK, NETWORKS_ANNOTATION } from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { issueToken } from "../mac-pool/account.ts";
import { borrowControlPlane } from "../support/borrowed-control-plane.ts";
import { createAny } from "../support/create-any.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { ProductProcess } from "../support/product-process.ts";
import { webhooksAt } from "../support/webhooks-at.ts";

export interface InjectorBedOptions {
  /** A borrowed one by default, which ends with the harness. */
  readonly controlPlane?: ControlPlaneAccess;
  readonly env?: Readonly<Record<string, string>>;
}

const LOOPBACK = "127.0.0.1";
/** A network that does not exist. */
const PROBE = "probe-without-network";
const ACCESS = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

export class InjectorHarness implements AsyncDisposable {
  readonly controlPlane: ControlPlaneAccess;
  readonly admin: KubeClient;
  readonly process: ProductProcess;
  readonly httpsPort: number;
  readonly healthPort: number;
  readonly #isBorrowed: boolean;

  private constructor(
    controlPlane: ControlPlaneAccess,
    admin: KubeClient,
    process: ProductProcess,
    httpsPort: number,
    healthPort: number,
    isBorrowed: boolean,
  ) {
    this.controlPlane = controlPlane;
    this.admin = admin;
    this.process = process;
    this.httpsPort = httpsPort;
    this.healthPort = healthPort;
    this.#isBorrowed = isBorrowed;
  }

  static async start(options: InjectorBedOptions = {}): Promise<InjectorHarness> {
    const controlPlane = options.controlPlane ?? (await borrowControlPlane());
    const admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    await admin.create(RESOURCES.crds, nadCrd as never);
    await admin.create(RESOURCES.namespaces, { metadata: { name: DEFAULT_NAMESPACE } });
    // Pods need it, and no controller-manager makes it.
    await admin.create(RESOURCES.serviceAccounts, { metadata: { namespace: "default", name: "default" } });
    const rendered = renderEverything(DEFAULT_SETTINGS).filter(
      ({ metadata }) => metadata.name === LINUX_BRIDGE_WEBHOOK,
    );
    for (const object of rendered.filter(({ kind = "" }) => ACCESS.includes(kind))) await createAny(admin, object);
    await admin.create(RESOURCES.secrets, await servingSecret(controlPlane));
    const [httpsPort, healthPort] = [await freePort(), await freePort()];
    const process = await ProductProcess.start({
      product: "linux-bridge-webhook",
      env: {
        KUBECONFIG: await accountKubeconfig(controlPlane, admin),
        POD_NAMESPACE: DEFAULT_NAMESPACE,
        HTTPS_PORT: String(httpsPort),
        HEALTH_PORT: String(healthPort),
        ...options.env,
      },
    });
    const harness = new InjectorHarness(
      controlPlane,
      admin,
      process,
      httpsPort,
      healthPort,
      options.controlPlane === undefined,
    );
    await eventually(
      "the injector is ready",
      async () => (await fetch(`http://${LOOPBACK}:${healthPort}/readyz`)).status === 200,
    );
    return harness;
  }

  async createNad(name: string, annotations: Readonly<Record<string, string>>, namespace = "default"): Promise<void> {
    await this.admin.create(NETWORK_ATTACHMENT_DEFINITIONS, {
      metadata: { namespace, name, annotations: { ...annotations } },
      spec: { config: "{}" },
    });
  }

  createPod(networks: string): Promise<Pod> {
    return this.admin.create(RESOURCES.pods, podAsking({ [NETWORKS_ANNOTATION]: networks }));
  }

  /** The process's metrics, without a token: through the health port. */
  async metrics(): Promise<string> {
    return (await fetch(`http://${LOOPBACK}:${this.healthPort}/metrics`)).text();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
    await this.admin[Symbol.asyncDispose]();
    if (this.#isBorrowed) await this.controlPlane[Symbol.asyncDispose]();
  }

  /**
   * From now on the API server asks the injector. The name decides the order among other webhooks. `Fail` unless given, so that
   * a webhook that is not called is seen.
   */
  async registerWebhook({ name = LINUX_BRIDGE_WEBHOOK, failurePolicy = "Fail" } = {}): Promise<void> {
    const rendered = renderEverything(DEFAULT_SETTINGS).find(
      ({ kind, metadata }) => kind === "MutatingWebhookConfiguration" && metadata.name === LINUX_BRIDGE_WEBHOOK,
    );
    if (rendered === undefined) throw new Error(`no MutatingWebhookConfiguration ${LINUX_BRIDGE_WEBHOOK} is rendered`);
    const url = `https://${LOOPBACK}:${this.httpsPort}`;
    const hook = webhooksAt(rendered, url, this.controlPlane.authority.certificate) as KubeObject & {
      readonly webhooks: readonly object[];
    };
    await this.admin.create(RESOURCES.mutatingWebhookConfigurations, {
      ...hook,
      metadata: { ...hook.metadata, name },
      webhooks: hook.webhooks.map((webhook) => ({ ...webhook, failurePolicy })),
    } as never);
    // The API server takes its time to act on a new configuration.
    await eventually("the API server asks the injector", async () => (await this.#probe())?.includes(PROBE) === true);
  }

  async unregisterWebhook(name = LINUX_BRIDGE_WEBHOOK): Promise<void> {
    await this.admin.delete(RESOURCES.mutatingWebhookConfigurations, { name });
    await eventually("the API server asks no longer", async () => (await this.#probe()) === undefined);
  }

  /** The refusal of a pod whose network does not exist, if there is one. */
  #probe(): Promise<string | undefined> {
    return this.admin.create(RESOURCES.pods, podAsking({ [NETWORKS_ANNOTATION]: PROBE }), { dryRun: true }).then(
      () => undefined,
      (error: Error) => error.message,
    );
  }
}

/** A pod of the namespace `default` with one container. */
export function podAsking(annotations: Readonly<Record<string, string>>): Pod {
  return {
    metadata: { namespace: "default", generateName: "web-", annotations: { ...annotations } },
    spec: { containers: [{ name: "compute", image: "example.com/guest" }] },
  };
}

async function servingSecret(controlPlane: ControlPlaneAccess): Promise<KubeObject & { data: Record<string, string> }> {
  const { cert, key } = await controlPlane.authority.issue({
    commonName: LINUX_BRIDGE_WEBHOOK,
    addresses: [LOOPBACK],
    usage: ["server"],
  });
  return {
    metadata: { name: LINUX_BRIDGE_WEBHOOK, namespace: DEFAULT_NAMESPACE },
    data: { "tls.crt": btoa(cert), "tls.key": btoa(key) },
  };
}

async function accountKubeconfig(controlPlane: ControlPlaneAccess, admin: KubeClient): Promise<string> {
  const token = await issueToken(admin, { name: LINUX_BRIDGE_WEBHOOK, namespace: DEFAULT_NAMESPACE });
  const file = join(controlPlane.directory, "injector.kubeconfig");
  await writeFile(file, controlPlane.tokenKubeconfig(token), { mode: 0o600 });
  return file;
}
