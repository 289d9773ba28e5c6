/** What the supervisor and a process node say to each other. */

import type { CommandResult } from "../command.ts";
import type { KeyPair } from "../control-plane/authority.ts";
import type { NodePlan } from "../network-plan.ts";

export interface NodeConfig {
  readonly plan: NodePlan;
  readonly apiServer: string;
  readonly caCertificate: string;
  /** Client and serving certificate of the node. */
  readonly credentials: KeyPair;
  /** Client certificate of the multus stand-in: a node may not patch its pods' metadata, and multus has its own account. */
  readonly multusCredentials: KeyPair;
  /** One log file a container. */
  readonly logDirectory: string;
  /** For each image the tree that it has at /app. */
  readonly images: Readonly<Record<string, string>>;
}

export interface NodeMethods {
  start(config: NodeConfig): Promise<void>;
  exec(call: { readonly argv: readonly string[]; readonly stdin?: string }): Promise<CommandResult>;
  execInPod(call: {
    readonly namespace: string;
    readonly pod: string;
    readonly container?: string;
    readonly argv: readonly string[];
    readonly stdin?: string;
  }): Promise<CommandResult>;
}
