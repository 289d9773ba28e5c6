import { readFile } from "node:fs/promises";
import type { Agent } from "node:http";
import { delimiter, join } from "node:path";
import { type Clock, systemClock } from "../clock.ts";
import type { KubeconfigOverrides } from "./kubeconfig-overrides.ts";

/**
 * The address of the API server and our credentials for it.
 *
 * In a pod three files are read. `@kubernetes/client-node` is loaded only where there is a kubeconfig, because it makes
 * the start slower and the process bigger.
 */
export interface Credentials {
  /** Base URL of the API server, without a slash at its end. */
  readonly server: string;
  /** Namespace of the service account or of the context. */
  readonly namespace: string | undefined;
  /** Where the credentials are from, for messages. */
  readonly source: string;
  /** Makes all connections of an agent go through a proxy; undefined where there is none. `tls`: what the server is asked with. */
  readonly proxied?: ((agent: Agent, tls: TlsMaterial) => Agent) | undefined;
  /** What to send now. `tls` stays the same object until something in it changes. */
  current(): Promise<RequestCredentials>;
  /**
   * The server refused them (401): the next `current()` reads everything again. `authorization`: what was refused; others
   * may have asked for something newer meanwhile, and that stays.
   */
  refresh(authorization?: string): void;
}

export interface RequestCredentials {
  readonly tls: TlsMaterial;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that are sent once for each value. */
  readonly repeated?: Readonly<Record<string, string[]>>;
}

export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly passphrase?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** What is made of TLS material: the same object until the material changes, as `Credentials.current` promises. */
export function madeOfTls(make: (tls: TlsMaterial) => TlsMaterial): (tls: TlsMaterial) => TlsMaterial {
  let from: TlsMaterial | undefined;
  let made: TlsMaterial = {};
  return (tls) => {
    if (tls !== from) [from, made] = [tls, make(tls)];
    return made;
  };
}

/** Kubelet renews projected tokens in place; the old one stays valid for at least some minutes. */
export const RELOAD_INTERVAL_MS = 60_000;

export const SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";

type Environment = Readonly<Record<string, string | undefined>>;

/** `$KUBECONFIG` if set, else the pod's service account, else `~/.kube/config`. */
export async function loadCredentials(env: Environment): Promise<Credentials> {
  if (env.KUBECONFIG) {
    return userCredentials(env);
  }
  if (env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT) {
    return inClusterCredentials({ host: env.KUBERNETES_SERVICE_HOST, port: env.KUBERNETES_SERVICE_PORT });
  }
  if (env.HOME) {
    return userCredentials(env);
  }
  throw new Error(
    "There is no way to the Kubernetes API: KUBECONFIG is not set, KUBERNETES_SERVICE_HOST is not set (not in a pod), and HOME is not set, so there is no .kube/config. Set KUBECONFIG.",
  );
}

/** A user's: from `kubeconfig` if given, else the files of `$KUBECONFIG`, else `~/.kube/config`. */
export async function userCredentials(
  env: Environment,
  { kubeconfig, ...overrides }: { readonly kubeconfig?: string | undefined } & KubeconfigOverrides = {},
): Promise<Credentials> {
  const { credentialsFromFiles } = await import("./kubeconfig-credentials.ts");
  return credentialsFromFiles(kubeconfigFiles(env, kubeconfig), overrides, env);
}

/** The contexts, clusters and users of a user's kubeconfig, by their names. */
export async function kubeconfigNames(env: Environment, kubeconfig?: string): Promise<KubeconfigNames> {
  const { namesInFiles } = await import("./kubeconfig-credentials.ts");
  return namesInFiles(kubeconfigFiles(env, kubeconfig));
}

export interface KubeconfigNames {
  readonly contexts: readonly string[];
  readonly clusters: readonly string[];
  readonly users: readonly string[];
}

function kubeconfigFiles(env: Environment, kubeconfig: string | undefined): readonly string[] {
  const named = kubeconfig === undefined ? (env.KUBECONFIG ?? "").split(delimiter).filter(Boolean) : [kubeconfig];
  return named.length > 0 ? named : [join(env.HOME ?? "", ".kube", "config")];
}

/** From a kubeconfig's path, or from its text (anything with a line break or a brace). */
export async function credentialsFromKubeconfig(pathOrText: string): Promise<Credentials> {
  const kubeconfig = await import("./kubeconfig-credentials.ts");
  return /[\n{]/.test(pathOrText)
    ? kubeconfig.credentialsFromText(pathOrText)
    : kubeconfig.credentialsFromFiles([pathOrText]);
}

/** The service account that kubelet mounts into every pod. Fails if its files are not there. */
export async function inClusterCredentials(options: {
  host: string;
  port: string;
  directory?: string;
  clock?: Clock;
}): Promise<Credentials> {
  const directory = options.directory ?? SERVICE_ACCOUNT_DIRECTORY;
  const clock = options.clock ?? systemClock;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  const read = async (file: string): Promise<string> => {
    try {
      return await readFile(join(directory, file), "utf8");
    } catch (error) {
      throw new Error(
        `Cannot read the service account's ${file}: ${(error as Error).message}. Is automountServiceAccountToken off?`,
        { cause: error },
      );
    }
  };
  let tls: TlsMaterial = { ca: await read("ca.crt") };
  const current = reloading(clock, async () => {
    const [token, ca] = await Promise.all([read("token"), read("ca.crt")]);
    if (ca !== tls.ca) {
      tls = { ca };
    }
    return { tls, headers: { authorization: `Bearer ${token.trim()}` } };
  });
  await current.get();
  return {
    server: `https://${host}:${options.port}`,
    namespace: await read("namespace").then(
      (text) => text.trim(),
      () => undefined,
    ),
    source: `service account in ${directory}`,
    current: current.get,
    refresh: current.expire,
  };
}

/**
 * Keeps a value for `RELOAD_INTERVAL_MS`, then loads it again, once for all concurrent callers. If loading fails, the older
 * value is used for another interval, because it may still be valid.
 */
export function reloading<T>(clock: Clock, load: (expired: boolean) => Promise<T>): Reloading<T> {
  let value: { readonly value: T; readonly until: number } | undefined;
  let expired = false;
  let loading: Promise<T> | undefined;
  const reload = async (): Promise<T> => {
    const wasExpired = expired;
    expired = false;
    try {
      const loaded = await load(wasExpired);
      value = { value: loaded, until: clock.monotonicMs() + RELOAD_INTERVAL_MS };
      return loaded;
    } catch (error) {
      if (value === undefined) {
        throw error;
      }
      value = { value: value.value, until: clock.monotonicMs() + RELOAD_INTERVAL_MS };
      return value.value;
    }
  };
  return {
    get: async () => {
      if (value !== undefined && !expired && clock.monotonicMs() < value.until) {
        return value.value;
      }
      loading ??= reload().finally(() => {
        loading = undefined;
      });
      return loading;
    },
    expire: () => {
      expired = true;
    },
  };
}

export interface Reloading<T> {
  readonly get: () => Promise<T>;
  readonly expire: () => void;
}
