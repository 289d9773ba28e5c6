/**
 * The operator as a build of the HyperConverged operator installs it: what csv-generator prints, taken apart as that build
 * does it. The operator runs in this process with the rights and the environment that come out.
 */

import { join } from "node:path";
import { Registry } from "prom-client";
import { expect } from "vitest";
import { parse } from "yaml";
import { NETWORK_ADDONS_CONFIGS } from "../../../src/api/kinds.ts";
import { OPERATOR_NAME } from "../../../src/api/names.ts";
import type { NetworkAddonsConfig } from "../../../src/api/network-addons-config.ts";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/client/credentials.ts";
import { type KubeObject, type ObjectRef, RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { type Log, silentLog } from "../../../src/kube/log.ts";
import { appliedKind } from "../../../src/operator/apply/applied-kinds.ts";
import { settingsFor } from "../../../src/operator/config/settings.ts";
import type { ClusterServiceVersion } from "../../../src/operator/olm/cluster-service-version.ts";
import { Operator } from "../../../src/operator/operator.ts";
import { mustRun } from "../../cluster/command.ts";
import type { ControlPlaneAccess } from "../../cluster/control-plane/access.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";

export const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;
export const HCO_NAMESPACE = "kubevirt-hyperconverged";
const CONFIG = { name: "cluster" };
const GENERATOR = join(import.meta.dirname, "../../../src/operator/olm/main.ts");
const USER = `system:serviceaccount:${HCO_NAMESPACE}:${OPERATOR_NAME}`;

export const runCsvGenerator = (flags: readonly string[]): Promise<string> =>
  mustRun([process.execPath, GENERATOR, ...flags]);

/** The documents by the kind that a line names. YAML is read as version 1.1, which that build's parser knows. */
export function splitManifests(
  text: string,
): ReadonlyMap<string, { readonly text: string; readonly object: KubeObject }> {
  const documents = text.split(/^---\n/m).filter((document) => document !== "");
  return new Map(
    documents.map((document) => {
      const kinds = document.split("\n").filter((line) => line.startsWith("kind: "));
      expect(kinds).toHaveLength(1);
      const object = parse(document, { version: "1.1" }) as KubeObject;
      return [kinds[0]?.slice("kind: ".length) ?? "", { text: document, object }];
    }),
  );
}

/** Accounts, roles, bindings and Deployments, each named after its account. */
export function mergedObjects(csv: ClusterServiceVersion): KubeObject[] {
  const { permissions, clusterPermissions, deployments } = csv.spec.install.spec;
  const rbac = "rbac.authorization.k8s.io";
  const bound = (prefix: "" | "Cluster", { serviceAccountName: name, rules }: (typeof permissions)[number]) => {
    const metadata = { name, labels: { name }, ...(prefix === "" ? { namespace: HCO_NAMESPACE } : {}) };
    const kind = `${prefix}Role`;
    return [
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...metadata, namespace: HCO_NAMESPACE } },
      { apiVersion: `${rbac}/v1`, kind, metadata, rules },
      {
        apiVersion: `${rbac}/v1`,
        kind: `${kind}Binding`,
        metadata,
        roleRef: { apiGroup: rbac, kind, name },
        subjects: [{ kind: "ServiceAccount", name, namespace: HCO_NAMESPACE }],
      },
    ];
  };
  return [
    ...permissions.flatMap((permission) => bound("", permission)),
    ...clusterPermissions.flatMap((permission) => bound("Cluster", permission)),
    ...deployments.map(({ name, spec }) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace: HCO_NAMESPACE, labels: { name } },
      spec,
    })),
  ];
}

export class MergedOperator implements AsyncDisposable {
  readonly admin: KubeClient;
  /** What the operator logged at warning level and above. */
  readonly warnings: string[] = [];
  readonly #controlPlane: ControlPlaneAccess;
  /** With the rights that come out. */
  readonly client: KubeClient;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(controlPlane: ControlPlaneAccess, admin: KubeClient, client: KubeClient) {
    this.#controlPlane = controlPlane;
    this.admin = admin;
    this.client = client;
  }

  static async prepare(): Promise<MergedOperator> {
    const controlPlane = await borrowControlPlane();
    const admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    const kubeconfig = await controlPlane.userKubeconfig(USER, ["system:serviceaccounts"]);
    const client = new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
    await admin.create(RESOURCES.namespaces, { metadata: { name: HCO_NAMESPACE } });
    return new MergedOperator(controlPlane, admin, client);
  }

  /** Installs the output of csv-generator, or another one over it. */
  async install(output: string): Promise<void> {
    const manifests = splitManifests(output);
    const definition = manifests.get("CustomResourceDefinition")?.object as CustomResourceDefinition;
    const csv = manifests.get("ClusterServiceVersion")?.object as ClusterServiceVersion;
    const options = { fieldManager: "olm", force: true, fieldValidation: "Strict" as const };
    await this.admin.apply(RESOURCES.crds, definition, options);
    for (const object of mergedObjects(csv)) await this.admin.apply(appliedKind(object).resource, object, options);
    await this.#restart(csv);
  }

  async config(): Promise<NetworkAddonsConfig | undefined> {
    return this.find(CONFIGS, CONFIG);
  }

  async find<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<T | undefined> {
    try {
      return await this.admin.get(resource, ref);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Replaces the whole object, as a client that has read it. A conflict is thrown: the operator writes to it too. */
  async update(change: (spec: object) => object, dryRun = false): Promise<NetworkAddonsConfig> {
    const live = await this.admin.get(CONFIGS, CONFIG);
    return this.admin.update(CONFIGS, { ...live, spec: change(live.spec ?? {}) }, { dryRun });
  }

  /** Reports every workload as running until the configuration, as it is now, is available. */
  async untilAvailable(): Promise<NetworkAddonsConfig["status"]> {
    const reached = async () => {
      await this.#rollOut();
      const config = await this.config();
      const available = config?.status?.conditions?.find(({ type }) => type === "Available");
      const isCurrent = config?.status?.observedGeneration === config?.metadata.generation;
      return isCurrent && available?.status === "True" ? true : config?.status?.conditions;
    };
    await expect.poll(reached).toBe(true);
    return (await this.config())?.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await this.client[Symbol.asyncDispose]();
    await this.admin[Symbol.asyncDispose]();
    await this.#controlPlane[Symbol.asyncDispose]();
  }

  async #restart(csv: ClusterServiceVersion): Promise<void> {
    await this.#end();
    const [container] = csv.spec.install.spec.deployments[0]?.spec?.template.spec?.containers ?? [];
    const variables = Object.fromEntries((container?.env ?? []).map(({ name, value = "" }) => [name, value]));
    const { OPERATOR_VERSION: version = "", ...rest } = variables;
    const images = Object.entries(rest).filter(([name]) => name.endsWith("_IMAGE"));
    const settings = {
      ...settingsFor(container?.image ?? "", HCO_NAMESPACE),
      version,
      componentImages: Object.fromEntries(images),
    };
    const note = (what: object | string, message = "") => {
      this.warnings.push(`${typeof what === "string" ? what : JSON.stringify(what)} ${message}`);
    };
    const log: Log = { ...silentLog, warn: note, error: note, child: () => log };
    this.#stop = new AbortController();
    const client = this.client;
    const operator = new Operator({ client, settings, identity: "operator-1", log, metrics: new Registry() });
    this.#running = operator.run(this.#stop.signal);
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #rollOut(): Promise<void> {
    const options = { namespace: HCO_NAMESPACE };
    for (const live of (await this.admin.list(RESOURCES.deployments, options)).items) {
      const replicas = live.spec?.replicas ?? 1;
      const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
      await this.#report(RESOURCES.deployments, live, counts);
    }
    const none = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
    for (const live of (await this.admin.list(RESOURCES.daemonSets, options)).items) {
      await this.#report(RESOURCES.daemonSets, live, none);
    }
  }

  async #report<T extends KubeObject>(resource: Resource<T>, { metadata, status }: T, counts: object): Promise<void> {
    const { name = "", namespace, generation } = metadata;
    if ((status as { observedGeneration?: number } | undefined)?.observedGeneration === generation) return;
    const body = { status: { observedGeneration: generation, ...counts } };
    try {
      await this.admin.patch(resource, { name, namespace }, { type: "merge", body }, { subresource: "status" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
