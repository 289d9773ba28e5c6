import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../clock.ts";

/**
 * Who we are to the API server, and where it is.
 *
 * The in-cluster path reads three files and loads nothing: `@kubernetes/client-node` costs 70 MB and 0.3 s at start, so
 * it is loaded only where a kubeconfig has to be understood.
 */
export interface Credentials {
  /** Base URL of the API server, without a slash at its end. */
  readonly server: string;
  /** Namespace of the service account or of the context. */
  readonly namespace: string | undefined;
  /** Where the credentials came from, for messages. */
  readonly source: string;
  /** What to send now. `tls` is the same object as long as nothing in it changed. */
  current(): Promise<RequestCredentials>;
  /** The server refused them (401): the next `current()` reads everything anew. */
  refresh(): void;
}

export interface RequestCredentials {
  readonly tls: TlsMaterial;
  readonly headers: Readonly<Record<string, string>>;
}

export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly passphrase?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Kubelet renews projected tokens in place; the old one stays valid for at least some minutes. */
export const RELOAD_INTERVAL_MS = 60_000;

export const SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";

type Environment = Readonly<Record<string, string | undefined>>;

/** `$KUBECONFIG` if set, else the pod's service account, else `~/.kube/config`. */
export async function loadCredentials(env: Environment): Promise<Credentials> {
  if (env.KUBECONFIG) {
    return (await import("./kubeconfig-credentials.ts")).credentialsFromFiles(
      env.KUBECONFIG.split(":").filter(Boolean),
    );
  }
  if (env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT) {
    return inClusterCredentials({ host: env.KUBERNETES_SERVICE_HOST, port: env.KUBERNETES_SERVICE_PORT });
  }
  if (env.HOME) {
    return credentialsFromKubeconfig(join(env.HOME, ".kube", "config"));
  }
  throw new Error(
    "No way to the Kubernetes API: KUBECONFIG is not set, KUBERNETES_SERVICE_HOST is not set (not in a pod), and there is no HOME to look for .kube/config in. Set KUBECONFIG.",
  );
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
 * Keeps a value for `RELOAD_INTERVAL_MS`, then loads it again, once for all callers at a time. If loading fails while an
 * older value is there, the older one is used for another interval: it may well still be good.
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
