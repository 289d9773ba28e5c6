/**
 * Maintains a webhook's certificates: the CA and the serving certificate in their Secrets, the caBundle in the webhook
 * configurations. `plan.ts` decides the next step. This file watches those objects and writes.
 *
 * `src/certs` stands between `src/kube` and the products; any product may import it. A product's listener gets its
 * certificate from `tls-source.ts`, which needs nothing that makes certificates. The process `cert-manager` is `main.ts`; the
 * operator's leader keeps those of linuxBridge itself.
 *
 * A Secret that somebody made immutable can't be renewed: it is deleted, and the operator creates it anew.
 *
 * Every write carries the resourceVersion of its decision, so two concurrent managers do no harm. This file never creates
 * Secrets, because RBAC can't limit `create` to a name. The operator creates them empty.
 */
import { Gauge, type Registry } from "prom-client";
import { isConflict, isNotFound } from "../kube/client/api-error.ts";
import type {
  MutatingWebhookConfiguration,
  Secret,
  ValidatingWebhookConfiguration,
} from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { JsonPatchOp } from "../kube/client/json-patch.ts";
import { jsonPointer } from "../kube/client/json-patch.ts";
import { type KubeObject, RESOURCES, type Resource } from "../kube/client/resource.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { Controller } from "../kube/informer/controller.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";
import type { WebhookConfigurationRef } from "./configuration.ts";
import { issueCa, issueServing } from "./issuer.ts";
import { type Action, type ConfiguredBundles, type Intervals, type Plan, planCertificates } from "./plan.ts";
import {
  decode,
  encode,
  keyPairData,
  readKeyPair,
  readSigningPair,
  readTrusted,
  type SecretData,
  trustedData,
} from "./secret-data.ts";

/** What is kept, by name. */
export interface KeptCertificates {
  readonly caSecret: string;
  readonly servingSecret: string;
  /** Service that the API server calls. */
  readonly serviceName: string;
  readonly webhookConfigurations: readonly WebhookConfigurationRef[];
}

export interface CertManagerOptions extends KeptCertificates {
  readonly client: KubeClient;
  /** Namespace of the Secrets and the Service. */
  readonly namespace: string;
  readonly intervals: Intervals;
  readonly log: Log;
  readonly metrics: Registry;
  readonly clock?: Clock;
}

type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

const FIELD_MANAGER = "cert-manager";

/** All objects together are one thing to reconcile. */
const KEY = "certificates";

/** The watch normally reports a write sooner. */
const AFTER_WRITE_MS = 1000;

const AFTER_CONFLICT_MS = 100;

/** Timers reach 24 days at most. A check once a day costs nothing. */
const MAX_WAIT_MS = 24 * 3_600_000;

export class CertManager {
  readonly #options: CertManagerOptions;
  readonly #clock: Clock;
  readonly #secrets: readonly Informer<Secret>[];
  readonly #configurations: readonly { ref: WebhookConfigurationRef; informer: Informer<WebhookConfiguration> }[];
  #waitingFor: string | undefined;
  /** Undefined until the first look at what is there. */
  #ready: boolean | undefined;
  #failure: string | undefined;

  constructor(options: CertManagerOptions) {
    const { client, namespace, log, metrics } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const watched = { client, log, metrics };
    this.#secrets = [options.caSecret, options.servingSecret].map(
      (name) => new Informer({ ...watched, resource: RESOURCES.secrets, namespace, fieldSelector: byName(name) }),
    );
    this.#configurations = options.webhookConfigurations.map((ref) => ({
      ref,
      informer: new Informer({ ...watched, resource: resourceOf(ref), fieldSelector: byName(ref.name) }),
    }));
  }

  /** Whether the API server can call the webhooks, as far as certificates go. */
  get ready(): boolean {
    return this.#ready === true;
  }

  /** Why it can't; undefined while it can, and until that is known. */
  get obstacle(): string | undefined {
    if (this.#ready !== false) return undefined;
    if (this.#failure !== undefined) return this.#failure;
    return this.#waitingFor === undefined ? "they are being made" : `waiting for ${this.#waitingFor}`;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { log, metrics } = this.#options;
    const forget = certificateMetrics(metrics, () => this.#notAfter());
    const controller = new Controller({
      name: "certificates",
      log,
      metrics,
      reconcile: () => this.#reconcile(signal),
    });
    for (const informer of [...this.#secrets, ...this.#configurations.map((configured) => configured.informer)]) {
      controller.watch(informer as Informer<KubeObject>, () => [KEY]);
      informer.start(signal);
    }
    controller.enqueue(KEY);
    try {
      await controller.run(signal);
    } finally {
      forget();
      this.#ready = undefined;
    }
  }

  async #reconcile(signal: AbortSignal): Promise<{ requeueAfterMs: number }> {
    const nowMs = this.#clock.now();
    const plan = this.#plan(nowMs);
    this.#ready = plan.ready;
    if (plan.waitingFor !== this.#waitingFor) {
      this.#waitingFor = plan.waitingFor;
      if (plan.waitingFor !== undefined) this.#options.log.info(`waiting for ${plan.waitingFor}`);
    }
    try {
      for (const action of plan.actions) await this.#act(action, nowMs, signal);
      this.#failure = undefined;
    } catch (error) {
      // The decision was based on an old state. The watch will deliver the new one.
      if (isConflict(error) || isNotFound(error)) return { requeueAfterMs: AFTER_CONFLICT_MS };
      this.#failure = error instanceof Error ? error.message : String(error);
      throw error;
    }
    const waitMs = plan.actions.length > 0 ? AFTER_WRITE_MS : plan.nextMs - nowMs;
    return { requeueAfterMs: Math.min(Math.max(waitMs, 1), MAX_WAIT_MS) };
  }

  #plan(nowMs: number): Plan {
    const ca = this.#secret(this.#options.caSecret);
    const serving = this.#secret(this.#options.servingSecret);
    const observed = {
      nowMs,
      ca: ca && { pair: readSigningPair(ca), trusted: readTrusted(ca) },
      serving: serving && { pair: readKeyPair(serving) },
      configurations: this.#bundles(),
      dnsNames: this.#dnsNames(),
    };
    return planCertificates(observed, this.#options.intervals);
  }

  #bundles(): ConfiguredBundles[] {
    return this.#configurations.flatMap(({ ref, informer }) => {
      const found = informer.get(ref.name);
      if (found === undefined) return [];
      const caBundles = (found.webhooks ?? []).map(({ clientConfig }) => decode(clientConfig.caBundle));
      return [{ configuration: configurationKey(ref), caBundles }];
    });
  }

  async #act(action: Action, nowMs: number, signal: AbortSignal): Promise<void> {
    const { caSecret, servingSecret, serviceName, log } = this.#options;
    switch (action.kind) {
      case "make-ca": {
        const commonName = `${serviceName} CA ${new Date(nowMs).toISOString()}`.slice(-64);
        const pair = issueCa({ commonName, nowMs, lifetimeMs: action.lifetimeMs });
        const trusted = [pair.certificate, ...action.keep];
        await this.#writeSecret(caSecret, { ...keyPairData(pair), ...trustedData(trusted) }, signal);
        log.info(
          { secret: caSecret, notAfter: new Date(pair.certificate.notAfterMs) },
          `made a new CA: ${action.reason}`,
        );
        return;
      }
      case "write-trusted":
        await this.#writeSecret(caSecret, trustedData(action.trusted), signal);
        log.info({ secret: caSecret, trusted: action.trusted.length }, `wrote the trusted CAs: ${action.reason}`);
        return;
      case "write-bundle":
        await this.#writeBundle(action.configuration, action.bundle, signal);
        log.info({ configuration: action.configuration }, "wrote the caBundle");
        return;
      case "make-serving": {
        const { signer, lifetimeMs } = action;
        const pair = issueServing({ ca: signer, dnsNames: this.#dnsNames(), nowMs, lifetimeMs });
        await this.#writeSecret(servingSecret, keyPairData(pair), signal);
        const notAfter = new Date(pair.certificate.notAfterMs);
        log.info({ secret: servingSecret, notAfter }, `made a new serving certificate: ${action.reason}`);
        return;
      }
    }
  }

  async #writeSecret(name: string, data: SecretData, signal: AbortSignal): Promise<void> {
    const { client, namespace, log } = this.#options;
    const ref = { name, namespace };
    const found = this.#secret(name);
    if (found?.immutable === true) {
      log.warn({ secret: name }, "is immutable and has to change: deleting it, for the operator to create it anew");
      await client.delete(RESOURCES.secrets, ref, { uid: found.metadata.uid, signal });
      throw new Error(`Secret ${namespace}/${name} was immutable and is being created anew`);
    }
    const body = { metadata: { resourceVersion: found?.metadata.resourceVersion }, data };
    await client.patch(RESOURCES.secrets, ref, { type: "merge", body }, { fieldManager: FIELD_MANAGER, signal });
  }

  async #writeBundle(key: string, bundle: string, signal: AbortSignal): Promise<void> {
    const entry = this.#configurations.find(({ ref }) => configurationKey(ref) === key);
    const found = entry?.informer.get(entry.ref.name);
    if (entry === undefined || found === undefined) return;
    const ops: JsonPatchOp[] = [
      { op: "replace", path: jsonPointer("metadata", "resourceVersion"), value: found.metadata.resourceVersion },
      ...(found.webhooks ?? []).map((_webhook, index): JsonPatchOp => {
        return { op: "add", path: jsonPointer("webhooks", index, "clientConfig", "caBundle"), value: encode(bundle) };
      }),
    ];
    const options = { fieldManager: FIELD_MANAGER, signal };
    await this.#options.client.patch(resourceOf(entry.ref), { name: entry.ref.name }, { type: "json", ops }, options);
  }

  #secret(name: string): Secret | undefined {
    const key = `${this.#options.namespace}/${name}`;
    return this.#secrets.map((informer) => informer.get(key)).find((secret) => secret !== undefined);
  }

  #notAfter(): [secret: string, notAfterMs: number | undefined][] {
    return [this.#options.caSecret, this.#options.servingSecret].map((name) => {
      const secret = this.#secret(name);
      return [name, secret && readKeyPair(secret)?.certificate.notAfterMs];
    });
  }

  /** API servers ask for the first name. */
  #dnsNames(): [string, ...string[]] {
    const { serviceName, namespace } = this.#options;
    const short = `${serviceName}.${namespace}`;
    return [`${short}.svc`, `${short}.svc.cluster.local`, short, serviceName];
  }
}

function byName(name: string): string {
  return `metadata.name=${name}`;
}

function configurationKey(ref: WebhookConfigurationRef): string {
  return `${ref.kind}/${ref.name}`;
}

function resourceOf(ref: WebhookConfigurationRef): Resource<WebhookConfiguration> {
  return ref.kind === "Mutating" ? RESOURCES.mutatingWebhookConfigurations : RESOURCES.validatingWebhookConfigurations;
}

/**
 * Expiry of each certificate of a manager, read at the scrape. A Secret without a usable certificate has no line. The
 * returned function removes the metric.
 */
export function certificateMetrics(
  registry: Registry,
  notAfterMs: () => Iterable<readonly [secret: string, notAfterMs: number | undefined]>,
): () => void {
  const name = "cert_manager_certificate_not_after_seconds";
  new Gauge({
    name,
    help: "Unix time at which the certificate in a Secret expires.",
    labelNames: ["secret"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [secret, ms] of notAfterMs()) if (ms !== undefined) this.set({ secret }, ms / 1000);
    },
  });
  return () => registry.removeSingleMetric(name);
}
