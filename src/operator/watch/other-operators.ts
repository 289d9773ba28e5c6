/**
 * Other operators and MAC pools that do the same work: Cluster Network Addons Operator, a KubeMacPool, a second installation of
 * this operator. While one is alive, this operator stands back.
 *
 * A name alone proves nothing, because a tenant can give it to an object: another operator counts where its account may write
 * the status of the NetworkAddonsConfig, and another pool where the webhook configuration leads to its namespace.
 */

import type { Registry } from "prom-client";
import {
  MAC_POOL_MANAGER,
  MAC_POOL_WEBHOOK_CONFIGURATION,
  NETWORK_ADDONS_CONFIG_NAME,
  NETWORK_ADDONS_GROUP,
  OPERATOR_NAME,
} from "../../api/names.ts";
import { SubjectAccess } from "../../kube/access/subject-access.ts";
import type { Deployment, Lease, MutatingWebhookConfiguration, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { Informer, objectKey } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import { isAppliedByUs } from "../apply/repair-backoff.ts";
import type { OperatorSettings } from "../config/settings.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { NOT_LISTABLE_WAIT_MS, notListableText, type WatchingInformer } from "./not-listable.ts";
import { accountOf, imageOf, isAlive, mayRun, runsThisOperator, slimProgram, slimProgramPod } from "./programs.ts";

export interface OtherOperatorsOptions {
  readonly client: KubeClient;
  readonly settings: OperatorSettings;
  /** Name of this process' pod. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Registry;
}

export interface OtherOperator {
  /** Kind and name of what is alive. */
  readonly what: string;
  /** When it may be over without an event of any watch. */
  readonly recheckAfterMs?: number | undefined;
}

/** KubeMacPool's. Ours has another name. */
export const OTHER_POOL_LEASE = "kubemacpool-election";

const ACCESS_REVIEWS = { maxInFlight: 20, timeoutMs: 10_000 };

export class OtherOperators {
  readonly #options: OtherOperatorsOptions;
  readonly #access: SubjectAccess;
  readonly #leases: LeaseWatch;
  readonly #operators: Informer<Deployment>;
  readonly #operatorPods: Informer<Pod>;
  readonly #operatorLeases: Informer<Lease>;
  readonly #pools: Informer<Deployment>;
  readonly #poolLeases: Informer<Lease>;
  readonly #webhooks: Informer<MutatingWebhookConfiguration>;
  readonly #listeners = new Set<() => void>();

  constructor(options: OtherOperatorsOptions) {
    const { client, settings, clock, log, metrics } = options;
    const { operatorNamespace, operandNamespace } = settings;
    this.#options = options;
    this.#access = new SubjectAccess({ client, ...ACCESS_REVIEWS });
    this.#leases = new LeaseWatch(clock);
    const reporting = { client, log, metrics };
    const deployments = { ...reporting, resource: RESOURCES.deployments, transform: slimProgram };
    const leases = { ...reporting, resource: RESOURCES.leases, transform: slimLease };
    this.#operators = new Informer({ ...deployments, fieldSelector: named(OPERATOR_NAME) });
    this.#pools = new Informer({ ...deployments, fieldSelector: elsewhere(MAC_POOL_MANAGER, operandNamespace) });
    this.#operatorLeases = new Informer({ ...leases, fieldSelector: elsewhere(OPERATOR_NAME, operatorNamespace) });
    this.#poolLeases = new Informer({ ...leases, fieldSelector: elsewhere(OTHER_POOL_LEASE, operandNamespace) });
    this.#operatorPods = new Informer({
      ...reporting,
      resource: RESOURCES.pods,
      namespace: operatorNamespace,
      labelSelector: `name=${OPERATOR_NAME}`,
      transform: slimProgramPod,
    });
    this.#webhooks = new Informer({
      ...reporting,
      resource: RESOURCES.mutatingWebhookConfigurations,
      fieldSelector: named(MAC_POOL_WEBHOOK_CONFIGURATION),
      transform: slimWebhooks,
    });
    for (const programs of [this.#operators, this.#pools]) this.#wakeOnChange(programs, judgedOf);
    for (const holders of [this.#operatorLeases, this.#poolLeases]) this.#wakeOnSigns(holders);
    this.#wakeOnChange(this.#operatorPods, (pod) => [mayRun(pod)]);
    this.#wakeOnChange(this.#webhooks, namespacesOf);
  }

  start(signal: AbortSignal): void {
    for (const informer of this.#informers()) informer.start(signal);
  }

  /** Waits a short time only: `operator` says what is not known. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    const all = Promise.all(this.#informers().map((informer) => informer.whenSynced(signal)));
    await Promise.race([all, this.#options.clock.sleep(NOT_LISTABLE_WAIT_MS, signal)]);
  }

  get hasSynced(): boolean {
    return this.#informers().every((informer) => informer.hasSynced);
  }

  /** Ends the waits for the API server's next answer. `relist`: and lists everything anew. */
  retryNow(relist: boolean): void {
    for (const informer of this.#informers()) informer.retryNow(relist);
  }

  /** Calls the listener when another operator may have come or gone. Returns the function that ends this. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * `isInCharge`: whether this operator has applied something already. Then a Lease counts only once it was seen renewed. Throws
   * while not everything is known.
   */
  async operator(isInCharge: () => Promise<boolean>, signal: AbortSignal): Promise<OtherOperator | undefined> {
    const { settings, identity } = this.#options;
    const { operatorNamespace } = settings;
    const notListable = this.#informers().find(({ hasSynced }) => !hasSynced);
    if (notListable !== undefined) throw new Error(notListableText(notListable.resource, notListable.fault));
    const ownImage = imageOf(this.#operatorPods.get(`${operatorNamespace}/${identity}`)?.spec);
    for (const program of this.#operators.list()) {
      const { namespace = "" } = program.metadata;
      if (!isAlive(program) || runsThisOperator(program.spec?.template.spec, ownImage)) continue;
      if (namespace === operatorNamespace || (await this.#mayWriteStatus(namespace, accountOf(program)))) {
        return { what: `Deployment ${objectKey(program)}` };
      }
    }
    const pod = this.#operatorPods.list().find((one) => mayRun(one) && !runsThisOperator(one.spec, ownImage));
    if (pod !== undefined) return { what: `Pod ${objectKey(pod)}` };
    return await this.#elected(isInCharge, signal);
  }

  /** The MAC pool that the API server calls in place of ours. */
  async pool(signal: AbortSignal): Promise<OtherOperator | undefined> {
    for (const namespace of this.poolNamespaces()) {
      const program = this.#pools.get(`${namespace}/${MAC_POOL_MANAGER}`);
      const lease = this.#poolLeases.get(`${namespace}/${OTHER_POOL_LEASE}`);
      const leftMs = lease && this.#leases.leftMs(lease, true);
      const isServed = program !== undefined && isAlive(program);
      if ((!isServed && leftMs === undefined) || (await this.#areOurWebhooks(signal))) continue;
      if (isServed) return { what: `Deployment ${objectKey(program)}` };
      return { what: `Lease ${namespace}/${OTHER_POOL_LEASE}`, recheckAfterMs: leftMs };
    }
    return undefined;
  }

  /** Namespaces other than that of our pool to which the webhook configuration leads. */
  poolNamespaces(): string[] {
    const { operandNamespace } = this.#options.settings;
    return this.#webhooks
      .list()
      .flatMap(namespacesOf)
      .filter((namespace) => namespace !== operandNamespace);
  }

  /** Operators that keep a Lease of our name elect each other across namespaces: the oldest Lease wins. */
  async #elected(isInCharge: () => Promise<boolean>, signal: AbortSignal): Promise<OtherOperator | undefined> {
    for (const lease of this.#operatorLeases.list()) {
      if (this.#leases.leftMs(lease, true) === undefined) continue;
      const recheckAfterMs = this.#leases.leftMs(lease, !(await isInCharge()));
      const { namespace = "" } = lease.metadata;
      if (recheckAfterMs === undefined || !(await this.#isOlderThanOurs(lease, signal))) continue;
      if (!(await this.#mayWriteStatus(namespace, OPERATOR_NAME))) continue;
      return { what: `Lease ${objectKey(lease)} of ${lease.spec?.holderIdentity}`, recheckAfterMs };
    }
    return undefined;
  }

  async #isOlderThanOurs(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const { operatorNamespace: namespace } = this.#options.settings;
    const own = await this.#options.client.get(RESOURCES.leases, { namespace, name: OPERATOR_NAME }, { signal });
    const [theirs, ours] = [age(lease), age(own)];
    return theirs === ours ? (lease.metadata.namespace ?? "") < namespace : theirs < ours;
  }

  async #mayWriteStatus(namespace: string, account: string): Promise<boolean> {
    const user = {
      username: `system:serviceaccount:${namespace}:${account}`,
      uid: "",
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
      extra: {},
    };
    const status = {
      group: NETWORK_ADDONS_GROUP,
      resource: "networkaddonsconfigs",
      subresource: "status",
      name: NETWORK_ADDONS_CONFIG_NAME,
    };
    for (const verb of ["patch", "update"] as const) {
      if (await this.#access.isAllowed(user, { verb, ...status })) return true;
    }
    return false;
  }

  /** What somebody else wrote over our webhooks is drift. */
  async #areOurWebhooks(signal: AbortSignal): Promise<boolean> {
    const ref = { name: MAC_POOL_WEBHOOK_CONFIGURATION };
    return isAppliedByUs(await this.#options.client.get(RESOURCES.mutatingWebhookConfigurations, ref, { signal }));
  }

  #wakeOnChange<T extends KubeObject>(informer: Informer<T>, judged: (object: T) => readonly unknown[]): void {
    informer.on({
      add: () => this.#wake(),
      update: (object, old) => {
        if (JSON.stringify(judged(object)) !== JSON.stringify(judged(old))) this.#wake();
      },
      delete: () => this.#wake(),
      onRelist: () => this.#wake(),
    });
  }

  #wakeOnSigns(informer: Informer<Lease>): void {
    const see = (lease: Lease): void => {
      if (this.#leases.see(lease)) this.#wake();
    };
    informer.on({
      add: see,
      update: see,
      delete: (lease) => {
        this.#leases.forget(lease);
        this.#wake();
      },
      onRelist: () => this.#wake(),
    });
  }

  #wake(): void {
    for (const listener of this.#listeners) listener();
  }

  #informers(): readonly WatchingInformer[] {
    const programs = [this.#operators, this.#pools, this.#operatorPods];
    return [...programs, this.#operatorLeases, this.#poolLeases, this.#webhooks];
  }
}

function named(name: string): string {
  return `metadata.name=${name}`;
}

function elsewhere(name: string, namespace: string): string {
  return `${named(name)},metadata.namespace!=${namespace}`;
}

function judgedOf(program: Deployment): readonly unknown[] {
  return [isAlive(program), program.spec?.template.spec];
}

function age({ metadata }: Lease): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

function slimLease({ metadata, spec }: Lease): Lease {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion, creationTimestamp }, spec } as Lease;
}

function slimWebhooks({ metadata, webhooks = [] }: MutatingWebhookConfiguration): MutatingWebhookConfiguration {
  const { name, uid, resourceVersion } = metadata;
  const services = webhooks.map(({ clientConfig }) => ({
    clientConfig: { service: { namespace: clientConfig.service?.namespace } },
  }));
  return { metadata: { name, uid, resourceVersion }, webhooks: services } as MutatingWebhookConfiguration;
}

function namespacesOf({ webhooks = [] }: MutatingWebhookConfiguration): string[] {
  return [...new Set(webhooks.flatMap(({ clientConfig }) => clientConfig.service?.namespace ?? []))];
}
