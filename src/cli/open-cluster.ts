import { setTimeout as sleep } from "node:timers/promises";
import type { HostInterface } from "../api/host-interfaces.ts";
import { MAC_CLAIMS } from "../api/kinds.ts";
import type { Mac } from "../api/mac.ts";
import { PRODUCT_VERSION } from "../api/names.ts";
import { ApiCaller } from "../kube/client/api-caller.ts";
import { isForbidden, isNotFound } from "../kube/client/api-error.ts";
import { KubeClient } from "../kube/client/client.ts";
import { withQuery } from "../kube/client/paths.ts";
import { RESOURCES, type Resource } from "../kube/client/resource.ts";
import { type Credentials, madeOfTls, userCredentials } from "../kube/credentials/credentials.ts";
import type { PoolView } from "../mac-pool/inspection/rest/views.ts";
import { ObjectBackend } from "./backends/object-backend.ts";
import { NeedsService, noPool, type PoolBackend, RoleMissing, ServiceUnavailable } from "./backends/pool-backend.ts";
import { PoolObjects } from "./backends/pool-objects.ts";
import { findPool, hasToken, proxyPath, withPoolToken } from "./backends/pool-service.ts";
import { RestBackend, type RestTransport } from "./backends/rest-backend.ts";
import type { Options } from "./command-line.ts";
import { CliError, describeFault, isForbiddenPool, neitherAnswers, roleMissing } from "./faults.ts";

/** How long the pool's service may take before the objects are asked; the API server itself has the whole timeout. */
const SERVICE_TIMEOUT_MS = 10_000;
/** Of a watch; the server sends something each half minute. */
const SILENCE_MS = 100_000;

const NO_LABELS = "-l takes the right to list MACClaims in the whole cluster: leave -l out";

const USER_AGENT = `kubectl-macpool/${PRODUCT_VERSION}`;

type Environment = Readonly<Record<string, string | undefined>>;

export interface OpenOptions {
  readonly env: Environment;
  readonly options: Options;
  readonly context: string | undefined;
  /** The wall clock. */
  readonly now: () => number;
  /** Called once, with the reason, when the pool's service can't be asked. */
  readonly onObjectsOnly: (reason: string) => void;
}

/** How the pool's service is asked. */
export interface ServicePlace {
  /** What its paths begin with, without a slash at its end. */
  readonly path: string;
  /** With the user's token for the service, at the API server; with the user's certificate, at the service itself. */
  readonly credentials: Credentials;
  readonly client: KubeClient;
}

/** One cluster, with the credentials of one context. */
export class OpenCluster implements AsyncDisposable {
  readonly credentials: Credentials;
  readonly client: KubeClient;
  /** What is open to the service. */
  readonly #service = new AsyncDisposableStack();
  readonly #options: OpenOptions;
  readonly #poolObjects: PoolObjects;
  readonly #objects: ObjectBackend;
  #rest: RestBackend | undefined;
  /** Why the service can't be asked. */
  #unavailable: ServiceUnavailable | undefined;
  #isNoted = false;
  /** Of the service. */
  #poolNamespace: string | undefined;

  private constructor(credentials: Credentials, options: OpenOptions) {
    this.credentials = credentials;
    this.client = new KubeClient({ credentials, userAgent: USER_AGENT });
    this.#options = options;
    const { requestTimeoutMs } = options.options;
    this.#poolObjects = new PoolObjects(this.client, requestTimeoutMs, options.now, () => this.#note());
    this.#objects = new ObjectBackend(
      this.#poolObjects,
      () => this.#unavailable ?? new ServiceUnavailable("nobody asked it"),
    );
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

  /** Asks the pool's service, or the objects where the service is unavailable. Throws a `CliError` for what goes wrong. */
  async ask<T>(question: (backend: PoolBackend) => Promise<T>): Promise<T> {
    try {
      if (this.#unavailable !== undefined) return await question(this.#objects);
      try {
        return await question(await this.#restBackend());
      } catch (error) {
        if (!(error instanceof ServiceUnavailable)) throw error;
        this.#unavailable = error;
      }
      return await question(this.#objects);
    } catch (error) {
      throw this.describe(error);
    }
  }

  /** What of nodes, and beyond their uplinks, has which address, by the user's own rights; undefined where they may not see it. */
  async addressesOfNodes(): Promise<ReadonlyMap<Mac, readonly HostInterface[]> | undefined> {
    try {
      const [hosts, stations] = await Promise.all([this.#poolObjects.hosts(), this.#poolObjects.stations([])]);
      if (hosts === undefined || stations === undefined) return undefined;
      return new Map([...[...stations].map(([mac, host]) => [mac, [host]] as const), ...hosts]);
    } catch (error) {
      throw this.describe(error);
    }
  }

  /** Names of the MACClaims that have the labels, by the user's own rights. */
  async claimsWith(labelSelector: string): Promise<ReadonlySet<string>> {
    const options = { managedFields: false, timeoutMs: this.#options.options.requestTimeoutMs, labelSelector };
    try {
      const { items } = await this.client.list(MAC_CLAIMS as Resource, options);
      return new Set(items.map(({ metadata }) => metadata.name ?? ""));
    } catch (error) {
      if (isForbidden(error)) throw new CliError(`${NO_LABELS} (${error.message})`, { cause: error });
      throw this.describe(error);
    }
  }

  /** Throws where the user can know that there is no such namespace. */
  async expectNamespace(name: string): Promise<void> {
    const options = { managedFields: false, timeoutMs: this.#options.options.requestTimeoutMs };
    const read = await this.client.get(RESOURCES.namespaces, { name }, options).catch((error: unknown) => error);
    if (isNotFound(read)) throw new CliError(`there is no namespace ${name}`);
  }

  /** Throws where the user can know that there is no such MACPool. */
  async expectPool(name: string): Promise<void> {
    const read = await this.ask((backend) => backend.pools()).catch((error: unknown) => error);
    if (!Array.isArray(read)) return;
    const names = (read as readonly PoolView[]).map((pool) => pool.name);
    if (!names.includes(name)) throw new CliError(noPool(name, names));
  }

  /** Reports once, when the first object is read. */
  #note(): void {
    if (!this.#isNoted) this.#options.onObjectsOnly(this.#unavailable?.message ?? "");
    this.#isNoted = true;
  }

  /** A sentence for the user in place of what a call threw. */
  describe(error: unknown): unknown {
    const why = this.#unavailable;
    const role = why instanceof RoleMissing && this.#poolNamespace ? roleMissing(this.#poolNamespace) : undefined;
    if (error instanceof NeedsService) {
      const text = `only the MAC pool's service knows ${error.message}. ${role ?? `It can't be asked: ${why?.message ?? ""}`}`;
      return new CliError(text, { cause: error });
    }
    if (why !== undefined && isForbiddenPool(error)) {
      return new CliError(role ?? neitherAnswers(why, error), { cause: error });
    }
    const message = describeFault(error, this.credentials.server);
    return message === undefined ? error : new CliError(message, { cause: error });
  }

  /** How the pool's service is asked. Throws `ServiceUnavailable` where that is not known. */
  async service(): Promise<ServicePlace> {
    const { poolNamespace, requestTimeoutMs } = this.#options.options;
    const isByToken = await hasToken(this.credentials);
    const place =
      poolNamespace === undefined ? await findPool(this.client, requestTimeoutMs) : { namespace: poolNamespace };
    this.#poolNamespace = place.namespace;
    const credentials = isByToken
      ? withPoolToken(this.credentials)
      : (await import("./backends/pool-replica.ts")).certificateForReplica(this.credentials, this.client, place);
    const client = this.#service.use(new KubeClient({ credentials, userAgent: USER_AGENT }));
    return { path: isByToken ? proxyPath(place.namespace) : "", credentials, client };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.client[Symbol.asyncDispose](), this.#service.disposeAsync()]);
  }

  async #restBackend(): Promise<RestBackend> {
    this.#rest ??= new RestBackend(this.#restTransport(await this.service()));
    return this.#rest;
  }

  #restTransport({ path, client, credentials }: ServicePlace): RestTransport {
    const timeoutMs = Math.min(SERVICE_TIMEOUT_MS, this.#options.options.requestTimeoutMs);
    const caller = new ApiCaller({ credentials, userAgent: USER_AGENT, watchSilenceMs: SILENCE_MS });
    this.#service.defer(() => caller.close());
    return {
      get: (question, query) => client.raw("GET", path + question, { query, timeoutMs }),
      stream: async (question, query, { signal, lastEventId }) => {
        const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
        const headers = { accept: "text/event-stream", ...resume };
        return caller.stream({ method: "GET", path: withQuery(path + question, query), headers, signal });
      },
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    };
  }
}

/** The user's credentials, as the options that kubectl has as well make them. */
async function credentialsOf(
  env: Readonly<Record<string, string | undefined>>,
  options: Options,
  context: string | undefined,
): Promise<Credentials> {
  const { kubeconfig, cluster, user, server, insecureSkipTlsVerify, token, as, asGroups } = options;
  const overrides = { context, cluster, user, server, insecureSkipTlsVerify };
  const own = await userCredentials(env, { kubeconfig, ...overrides });
  const identified = token === undefined ? own : withToken(own, token);
  return as === undefined ? identified : withImpersonation(identified, as, asGroups);
}

/** As kubectl's `--token`: in place of every other credential of the user. */
function withToken(own: Credentials, token: string): Credentials {
  const tlsOf = madeOfTls(({ cert: _cert, key: _key, passphrase: _passphrase, ...rest }) => rest);
  const current = async () => {
    const { tls, headers } = await own.current();
    return { tls: tlsOf(tls), headers: { ...headers, authorization: `Bearer ${token}` } };
  };
  return { ...own, current };
}

/** As kubectl's `--as` and `--as-group`. */
function withImpersonation(own: Credentials, user: string, groups: readonly string[]): Credentials {
  const repeated = groups.length === 0 ? {} : { "impersonate-group": [...groups] };
  const current = async () => {
    const { tls, headers } = await own.current();
    return { tls, headers: { ...headers, "impersonate-user": user }, repeated };
  };
  return { ...own, current };
}
