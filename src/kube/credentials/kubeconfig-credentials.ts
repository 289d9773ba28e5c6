import { existsSync, readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { delimiter, dirname, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import type { User } from "@kubernetes/client-node/dist/config_types.js";
import { parse as parseYaml } from "yaml";
import { systemClock } from "../clock.ts";
import {
  type Credentials,
  type KubeconfigNames,
  type RequestCredentials,
  reloading,
  type TlsMaterial,
} from "./credentials.ts";
import { checkCertificate, checkCluster, checkUser, noCredentials, unreadable } from "./kubeconfig-faults.ts";
import { type KubeconfigOverrides, override } from "./kubeconfig-overrides.ts";
import { parseProxy, proxyFromEnvironment } from "./proxy-choice.ts";
import { tunnelsOf } from "./tunnel.ts";

/**
 * Credentials from kubeconfig files: client-node understands the files, exec plugins and certificates in them. Only its
 * `config.js` is loaded, and only when there is a kubeconfig: all of client-node costs 0.45 s and 130 MB.
 *
 * As in kubectl, the first of several files that names a cluster, user or context counts, and files that do not exist are
 * left out. `overrides` take precedence over what they say; `env` names a proxy where they do not.
 */
export async function credentialsFromFiles(
  paths: readonly string[],
  overrides: KubeconfigOverrides = {},
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Credentials> {
  const version = () =>
    Promise.all(
      paths.map((path) =>
        stat(path).then(
          (found) => found.mtimeMs,
          () => 0,
        ),
      ),
    );
  const name = paths.join(delimiter);
  const read = (): Loaded => {
    const loaded = readFiles(paths);
    override(loaded.config, name, overrides);
    return loaded;
  };
  return fromSource({ name, read, version, env });
}

export function namesInFiles(paths: readonly string[]): KubeconfigNames {
  const { contexts, clusters, users } = readFiles(paths).config;
  const namesOf = (all: readonly { readonly name: string }[]): string[] => all.map(({ name }) => name);
  return { contexts: namesOf(contexts), clusters: namesOf(clusters), users: namesOf(users) };
}

export async function credentialsFromText(text: string): Promise<Credentials> {
  const read = () => {
    const config = parse("the given kubeconfig", (config) => config.loadFromString(text));
    completeExecPlugins(config.users, ".");
    return { config, tokenFiles: tokenFiles(text, ".") };
  };
  return fromSource({ name: "the given kubeconfig", read, version: () => Promise.resolve([0]), env: {} });
}

interface Loaded {
  readonly config: KubeConfig;
  readonly tokenFiles: TokenFiles;
}

interface Source {
  readonly name: string;
  read(): Loaded;
  /** Changes when the files do. */
  version(): Promise<readonly number[]>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

async function fromSource(source: Source): Promise<Credentials> {
  let loaded = source.read();
  let version = await source.version();
  const { server, namespace, proxyUrl } = target(loaded, source.name);
  const proxy = proxyUrl === undefined ? proxyFromEnvironment(new URL(server), source.env) : parseProxy(proxyUrl);
  let known: string | undefined;
  let tls: TlsMaterial = {};
  const current = reloading(systemClock, async (refused): Promise<RequestCredentials> => {
    const now = await source.version();
    // A new KubeConfig forgets what an exec plugin answered before.
    if (refused || now.some((mtime, index) => mtime !== version[index])) {
      loaded = source.read();
      version = now;
    }
    const { config } = loaded;
    const user = config.getCurrentUser();
    const tokenFile = user ? loaded.tokenFiles.get(user.name) : undefined;
    const options: RequestOptions = {};
    let fromFile = {};
    try {
      await config.applyToHTTPSOptions(options);
      fromFile = tokenFile === undefined ? {} : await authorizationFrom(tokenFile);
    } catch (error) {
      throw noCredentials(source.name, user, error);
    }
    const fresh = tlsOf(options);
    if (user) {
      checkCertificate(source.name, user, fresh.cert, systemClock.now());
    }
    if (!sameTls(fresh, tls)) {
      tls = fresh;
    }
    const headers: RequestCredentials["headers"] = { ...headersOf(options), ...fromFile };
    known = headers.authorization;
    return { tls, headers };
  });
  await current.get();
  const refresh = (authorization = known): void => {
    if (authorization === known) current.expire();
  };
  const proxied = proxy && tunnelsOf(proxy);
  return { server, namespace, proxied, source: source.name, current: current.get, refresh };
}

function readFiles(paths: readonly string[]): Loaded {
  const merged = new KubeConfig();
  merged.loadFromOptions({ clusters: [], users: [], contexts: [], currentContext: "" });
  const files = new Map<string, string>();
  const existing = paths.length > 1 ? paths.filter((path) => existsSync(path)) : paths;
  for (const path of existing) {
    const one = parse(path, (config) => config.loadFromFile(path));
    const directory = dirname(path);
    completeExecPlugins(one.users, directory);
    const named = tokenFiles(readFileSync(path, "utf8"), directory);
    for (const user of one.users) {
      const tokenFile = named.get(user.name);
      if (tokenFile !== undefined && !merged.users.some(({ name }) => name === user.name)) {
        files.set(user.name, tokenFile);
      }
    }
    merged.clusters = withNew(merged.clusters, one.clusters);
    merged.users = withNew(merged.users, one.users);
    merged.contexts = withNew(merged.contexts, one.contexts);
    merged.currentContext ||= one.currentContext;
  }
  if (existing.length === 0) {
    throw new Error(`None of the kubeconfig files exists: ${paths.join(", ") || "KUBECONFIG names no file"}.`);
  }
  return { config: merged, tokenFiles: files };
}

function withNew<A extends { readonly name: string }>(known: readonly A[], more: readonly A[]): A[] {
  return [...known, ...more.filter(({ name }) => !known.some((each) => each.name === name))];
}

function parse(name: string, load: (config: KubeConfig) => void): KubeConfig {
  const config = new KubeConfig();
  try {
    load(config);
  } catch (error) {
    throw unreadable(name, error);
  }
  return config;
}

interface Target {
  readonly server: string;
  readonly namespace: string | undefined;
  readonly proxyUrl: string | undefined;
}

function target({ config, tokenFiles }: Loaded, name: string): Target {
  const contextName = config.currentContext;
  const known = config.contexts.map((context) => context.name).join(", ") || "none";
  if (!contextName) {
    throw new Error(`${name}: current-context is not set: choose one of its contexts (${known}).`);
  }
  const context = config.getContextObject(contextName);
  if (!context) {
    throw new Error(`${name}: context "${contextName}" is not among its contexts: choose one (${known}).`);
  }
  const cluster = config.getCurrentCluster();
  if (!cluster) {
    throw new Error(
      `${name}: contexts[${contextName}].context.cluster "${context.cluster}" is not among its clusters: correct the name or add it.`,
    );
  }
  const user = config.getCurrentUser();
  if (!user && context.user) {
    throw new Error(
      `${name}: contexts[${contextName}].context.user "${context.user}" is not among its users: correct the name or add it.`,
    );
  }
  checkCluster(name, cluster);
  if (user) {
    checkUser(name, user, tokenFiles.get(user.name));
  }
  const { proxyUrl } = cluster;
  return { server: cluster.server.replace(/\/+$/, ""), namespace: context.namespace, proxyUrl: proxyUrl || undefined };
}

function tlsOf(options: RequestOptions): TlsMaterial {
  const { ca, cert, key, passphrase, servername, rejectUnauthorized } = options;
  return {
    ...(ca ? { ca: ca as string | Buffer } : {}),
    ...(cert ? { cert: cert as string | Buffer } : {}),
    ...(key ? { key: key as string | Buffer } : {}),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  };
}

function sameTls(one: TlsMaterial, other: TlsMaterial): boolean {
  const text = (tls: TlsMaterial) =>
    [tls.ca, tls.cert, tls.key, tls.passphrase, tls.servername, tls.rejectUnauthorized].map(String).join("\0");
  return text(one) === text(other);
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (typeof value === "string") {
      headers[name.toLowerCase()] = value;
    }
  }
  if (options.auth && headers.authorization === undefined) {
    headers.authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  }
  return headers;
}

interface ExecPlugin {
  readonly apiVersion?: string;
  command: string;
  env?: readonly { readonly name: string; readonly value: string }[] | null;
}

/**
 * What client-node leaves out for exec plugins: a command with a slash is relative to its kubeconfig, and the plugin
 * reads from KUBERNETES_EXEC_INFO which version of ExecCredential it has to print.
 */
function completeExecPlugins(users: readonly User[], directory: string): void {
  for (const { exec } of users as readonly { readonly exec?: ExecPlugin | null }[]) {
    if (!exec?.command) continue;
    if (exec.command.includes("/")) exec.command = resolve(directory, exec.command);
    const info = { apiVersion: exec.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
    exec.env = [...(exec.env ?? []), { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) }];
  }
}

/** Paths of token files by the name of their user. client-node does not know `users[].user.tokenFile`. */
type TokenFiles = ReadonlyMap<string, string>;

/** `text` is a kubeconfig that client-node has understood; paths in it are relative to `directory`. */
function tokenFiles(text: string, directory: string): TokenFiles {
  const found = new Map<string, string>();
  const { users } = parseYaml(text) as { users?: readonly { name: string; user?: { tokenFile?: string } | null }[] };
  for (const { name, user } of users ?? []) {
    if (user?.tokenFile) {
      found.set(name, resolve(directory, user.tokenFile));
    }
  }
  return found;
}

/** The header that a token file gives. It goes before `token`, as in client-go. */
async function authorizationFrom(tokenFile: string): Promise<{ authorization: string }> {
  const token = (await readFile(tokenFile, "utf8")).trim();
  if (token === "") {
    throw new Error(`${tokenFile} is empty`);
  }
  return { authorization: `Bearer ${token}` };
}
