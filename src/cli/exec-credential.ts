import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { CliError, type ClientConfig } from "./kubeconfig.ts";

const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

const run = promisify(execFile);

interface ExecCredential {
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
  };
}

/** The configuration with what its exec plugin (client.authentication.k8s.io) answers, if it has one. */
export async function withExecCredential(
  config: ClientConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ClientConfig> {
  const { exec } = config;
  if (exec === undefined) return config;
  const { apiVersion, args, directory } = exec;
  // As kubectl does: a command with a slash is relative to its kubeconfig, any other is looked for in PATH.
  const command = exec.command.includes("/") ? resolve(directory, exec.command) : exec.command;
  const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec: { interactive: false } });
  const own = Object.fromEntries(exec.env.map(({ name, value }) => [name, value]));
  try {
    const { stdout } = await run(command, [...args], {
      env: { ...env, ...own, KUBERNETES_EXEC_INFO: info },
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_ANSWER_BYTES,
    });
    const { status = {} } = JSON.parse(stdout) as ExecCredential;
    return {
      ...config,
      token: status.token ?? config.token,
      cert: status.clientCertificateData === undefined ? config.cert : Buffer.from(status.clientCertificateData),
      key: status.clientKeyData === undefined ? config.key : Buffer.from(status.clientKeyData),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new CliError(`the credential plugin ${exec.command} of the kubeconfig gives no credentials: ${reason}`);
  }
}
