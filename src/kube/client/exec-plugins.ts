import { resolve } from "node:path";
import type { User } from "@kubernetes/client-node/dist/config_types.js";

interface ExecPlugin {
  readonly apiVersion?: string;
  command: string;
  env?: readonly { readonly name: string; readonly value: string }[] | null;
}

/**
 * What client-node leaves out for exec plugins: a command with a slash is relative to its kubeconfig, and the plugin
 * reads from KUBERNETES_EXEC_INFO which version of ExecCredential it has to print.
 */
export function completeExecPlugins(users: readonly User[], directory: string): void {
  for (const { exec } of users as readonly { readonly exec?: ExecPlugin | null }[]) {
    if (!exec?.command) continue;
    if (exec.command.includes("/")) exec.command = resolve(directory, exec.command);
    const info = { apiVersion: exec.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
    exec.env = [...(exec.env ?? []), { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) }];
  }
}
