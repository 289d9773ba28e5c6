import { readFile } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";

/**
 * Where the API server is and who the user is, from kubeconfig files as kubectl reads them: the files of KUBECONFIG are
 * merged, the first one that says something wins, paths are relative to the file they stand in.
 */

/** A failure with a sentence for the user; exit code 1. */
export class CliError extends Error {
  override readonly name = "CliError";
}

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly directory: string;
}

export interface ClientConfig {
  readonly server: string;
  /** Of the context, for commands that name none. */
  readonly namespace: string;
  readonly ca: Buffer | undefined;
  readonly insecure: boolean;
  readonly serverName: string | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly token: string | undefined;
  readonly basic: string | undefined;
  readonly exec: ExecPlugin | undefined;
}

export interface KubeconfigOptions {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

/** An entry of one file, and the folder that its relative paths start from. */
interface Located {
  readonly value: Readonly<Record<string, unknown>>;
  readonly directory: string;
}

export async function readKubeconfig(options: KubeconfigOptions): Promise<ClientConfig> {
  const files = await readFiles(options);
  const contextName =
    options.context ?? files.map((file) => text(file.value["current-context"])).find((name) => name !== "");
  if (contextName === undefined) {
    throw new CliError(
      "the kubeconfig has no current-context: choose one with --context or kubectl config use-context",
    );
  }
  const context = entry(files, "contexts", "context", contextName);
  const cluster = entry(files, "clusters", "cluster", text(context.value.cluster));
  const userName = text(context.value.user);
  const user = userName === "" ? { value: {}, directory: "." } : entry(files, "users", "user", userName);
  const server = text(cluster.value.server);
  if (server === "")
    throw new CliError(`cluster ${JSON.stringify(text(context.value.cluster))} of the kubeconfig has no server`);
  const { username, password } = user.value;
  return {
    server,
    namespace: text(context.value.namespace) || "default",
    ca: await content(cluster, "certificate-authority"),
    insecure: cluster.value["insecure-skip-tls-verify"] === true,
    serverName: text(cluster.value["tls-server-name"]) || undefined,
    cert: await content(user, "client-certificate"),
    key: await content(user, "client-key"),
    token: await tokenOf(user),
    basic: text(username) === "" ? undefined : Buffer.from(`${text(username)}:${text(password)}`).toString("base64"),
    exec: execOf(user),
  };
}

async function readFiles({ kubeconfig, env, home }: KubeconfigOptions): Promise<Located[]> {
  const named =
    kubeconfig === undefined ? (env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "") : [kubeconfig];
  const paths = named.length > 0 ? named : [join(home, ".kube", "config")];
  const files: Located[] = [];
  for (const path of paths) {
    const written = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" && paths.length > 1) return undefined;
      throw new CliError(
        `the kubeconfig ${path} can't be read (${error.code ?? error.message}): name one with --kubeconfig`,
      );
    });
    if (written === undefined) continue;
    files.push({ value: record(parseYaml(path, written)), directory: dirname(resolve(path)) });
  }
  if (files.length === 0) throw new CliError(`none of the kubeconfig files ${paths.join(", ")} is there`);
  return files;
}

function parseYaml(path: string, written: string): unknown {
  try {
    return parse(written);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new CliError(`the kubeconfig ${path} is not YAML: ${reason}`);
  }
}

function entry(files: readonly Located[], list: string, field: string, name: string): Located {
  for (const { value, directory } of files) {
    const entries = Array.isArray(value[list]) ? (value[list] as unknown[]) : [];
    const found = entries.map(record).find((candidate) => candidate.name === name);
    if (found !== undefined) return { value: record(found[field]), directory };
  }
  throw new CliError(`the kubeconfig has no ${field} named ${JSON.stringify(name)}`);
}

/** `<field>-data` in base64, or the file that `<field>` names. */
async function content({ value, directory }: Located, field: string): Promise<Buffer | undefined> {
  const data = text(value[`${field}-data`]);
  if (data !== "") return Buffer.from(data, "base64");
  const path = text(value[field]);
  return path === "" ? undefined : readNamed(resolve(directory, path));
}

async function tokenOf(user: Located): Promise<string | undefined> {
  const token = text(user.value.token);
  if (token !== "") return token;
  const path = text(user.value.tokenFile);
  return path === "" ? undefined : (await readNamed(resolve(user.directory, path))).toString("utf8").trim();
}

async function readNamed(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`${path}, which the kubeconfig names, can't be read (${error.code ?? error.message})`);
  });
}

function execOf({ value, directory }: Located): ExecPlugin | undefined {
  if (value.exec === undefined || value.exec === null) return undefined;
  const exec = record(value.exec);
  return {
    apiVersion: text(exec.apiVersion) || "client.authentication.k8s.io/v1",
    command: text(exec.command),
    args: Array.isArray(exec.args) ? exec.args.map(String) : [],
    env: (Array.isArray(exec.env) ? exec.env : [])
      .map(record)
      .map(({ name, value: set }) => ({ name: text(name), value: text(set) })),
    directory,
  };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
