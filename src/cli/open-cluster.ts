import { setTimeout as sleep } from "node:timers/promises";
import { PRODUCT_VERSION } from "../api/names.ts";
import { ApiCaller } from "../kube/client/api-caller.ts";
import { KubeClient } from "../kube/client/client.ts";
import type { Credentials } from "../kube/client/credentials.ts";
import { withQuery } from "../kube/client/paths.ts";
import type { Options } from "./command-line.ts";
import { type Door, OnlyService, ServiceAway } from "./doors/door.ts";
import { ObjectDoor } from "./doors/object-door.ts";
import { PoolObjects } from "./doors/pool-objects.ts";
import { bearerOf, findPoolNamespace, proxyPath, withPoolToken } from "./doors/pool-service.ts";
import { RestDoor, type RestTransport } from "./doors/rest-door.ts";
import { CliError, describeFault } from "./faults.ts";
import { credentialsOf } from "./user-credentials.ts";

/** How long the pool's service may take before the objects are asked; the API server itself has the whole timeout. */
const SERVICE_TIMEOUT_MS = 10_000;
/** Of a watch; the server sends something each half minute. */
const SILENCE_MS = 100_000;

type Environment = Readonly<Record<string, string | undefined>>;

export interface OpenOptions {
  readonly env: Environment;
  readonly options: Options;
  readonly context: string | undefined;
  /** Called once, with the reason, when the pool's service can't be asked. */
  readonly onObjectsOnly: (reason: string) => void;
}

/** Where the pool's service is, and the token to show it. */
export interface ServicePlace {
  /** Path at the API server, without a slash at its end. */
  readonly path: string;
  /** The user's, which show the service the token too. */
  readonly credentials: Credentials;
  readonly client: KubeClient;
}

/** One cluster, with the credentials of one context. */
export class OpenCluster implements AsyncDisposable {
  readonly credentials: Credentials;
  readonly client: KubeClient;
  readonly #service: KubeClient;
  readonly #caller: ApiCaller;
  readonly #options: OpenOptions;
  readonly #objects: ObjectDoor;
  #rest: RestDoor | undefined;
  /** Why the service can't be asked. */
  #away: ServiceAway | undefined;
  #isNoted = false;

  private constructor(credentials: Credentials, options: OpenOptions) {
    const userAgent = `kubectl-macpool/${PRODUCT_VERSION}`;
    this.credentials = credentials;
    this.client = new KubeClient({ credentials, userAgent });
    const forPool = { credentials: withPoolToken(credentials), userAgent };
    this.#service = new KubeClient(forPool);
    this.#caller = new ApiCaller({ ...forPool, watchSilenceMs: SILENCE_MS });
    this.#options = options;
    const { requestTimeoutMs } = options.options;
    const objects = new PoolObjects(this.client, requestTimeoutMs, () => this.#note());
    this.#objects = new ObjectDoor(objects, () => this.#away ?? new ServiceAway("nobody asked it"));
  }

  /** Throws a `CliError` for what is wrong with the kubeconfig, or with the options in its place. */
  static async open(options: OpenOptions): Promise<OpenCluster> {
    try {
      return new OpenCluster(await credentialsOf(options.env, options.options, options.context), options);
    } catch (error) {
      throw new CliError(error instanceof Error ? error.message : String(error), { cause: error });
    }
  }

  get defaultNamespace(): string {
    return this.credentials.namespace ?? "default";
  }

  /** Of each answer. */
  get timeoutMs(): number {
    return this.#options.options.requestTimeoutMs;
  }

  get server(): string {
    return this.credentials.server;
  }

  /** Through the pool's service, or with the objects where that is away. Throws a `CliError` for what goes wrong. */
  async ask<T>(question: (door: Door) => Promise<T>): Promise<T> {
    try {
      if (this.#away !== undefined) return await question(this.#objects);
      try {
        return await question(await this.#restDoor());
      } catch (error) {
        if (!(error instanceof ServiceAway)) throw error;
        this.#away = error;
      }
      return await question(this.#objects);
    } catch (error) {
      throw this.describe(error);
    }
  }

  /** Once, before the first object is read: a watch goes on for long. */
  #note(): void {
    if (!this.#isNoted) this.#options.onObjectsOnly(this.#away?.message ?? "");
    this.#isNoted = true;
  }

  /** A sentence for the user in place of what a call threw. */
  describe(error: unknown): unknown {
    if (error instanceof OnlyService) {
      return new CliError(`only the MAC pool's service knows ${error.message}, and ${this.#away?.message}`, {
        cause: error,
      });
    }
    const message = describeFault(error, this.server);
    return message === undefined ? error : new CliError(message, { cause: error });
  }

  /** Where the pool's service is. Throws `ServiceAway` where it can't be told, or where there is no token. */
  async service(): Promise<ServicePlace> {
    await bearerOf(this.credentials);
    const { poolNamespace, requestTimeoutMs } = this.#options.options;
    const namespace = poolNamespace ?? (await findPoolNamespace(this.client, requestTimeoutMs));
    return { path: proxyPath(namespace), credentials: withPoolToken(this.credentials), client: this.#service };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#caller.close();
    await Promise.all([this.client[Symbol.asyncDispose](), this.#service[Symbol.asyncDispose]()]);
  }

  async #restDoor(): Promise<RestDoor> {
    this.#rest ??= new RestDoor(this.#restTransport(await this.service()));
    return this.#rest;
  }

  #restTransport({ path, client }: ServicePlace): RestTransport {
    const timeoutMs = Math.min(SERVICE_TIMEOUT_MS, this.#options.options.requestTimeoutMs);
    return {
      get: (question, query) => client.raw("GET", path + question, { query, timeoutMs }),
      stream: async (question, query, { signal, lastEventId }) => {
        const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
        const headers = { accept: "text/event-stream", ...resume };
        const call = { method: "GET", path: withQuery(path + question, query), headers, signal };
        return this.#caller.stream(call);
      },
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    };
  }
}
