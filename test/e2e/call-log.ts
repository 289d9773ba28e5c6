/** Writes down how the runtime calls a CNI plugin of a node: a script in its place that calls the real one. */
import type { NodeCluster } from "./node-cluster.ts";
import { CNI_BIN_DIRECTORY } from "./node-config.ts";

export interface CniCall {
  readonly command: string;
  readonly containerId: string;
  readonly ifname: string;
  readonly netns: string;
  readonly exitCode: number;
}

const LOG = "/var/log/cni-calls";
const REAL = "/opt/cni/real";

/** One line a call, in one write. */
const SCRIPT = `#!/bin/sh
input=$(cat)
printf '%s' "$input" | ${REAL}/\${0##*/}
code=$?
echo "\${CNI_COMMAND} \${CNI_CONTAINERID:--} \${CNI_IFNAME:--} \${CNI_NETNS:--} $code" >> ${LOG}
exit $code
`;

export class CallLog {
  readonly #cluster: NodeCluster;
  readonly #node: string;

  private constructor(cluster: NodeCluster, node: string) {
    this.#cluster = cluster;
    this.#node = node;
  }

  static async of(cluster: NodeCluster, node: string, plugin: string): Promise<CallLog> {
    const log = new CallLog(cluster, node);
    const file = `${CNI_BIN_DIRECTORY}/${plugin}`;
    await log.#sh(`mkdir -p ${REAL} && mv ${file} ${REAL}/ && cat > ${file} && chmod 755 ${file}`, SCRIPT);
    return log;
  }

  async calls(): Promise<CniCall[]> {
    const text = await this.#sh(`cat ${LOG} 2>/dev/null || true`);
    const lines = text.split("\n").filter((line) => line !== "");
    return lines.map((line) => {
      const [command = "", containerId = "", ifname = "", netns = "", code = ""] = line.split(" ");
      return { command, containerId, ifname, netns: netns === "-" ? "" : netns, exitCode: Number(code) };
    });
  }

  async #sh(script: string, stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await this.#cluster.exec(this.#node, ["sh", "-c", script], {
      ...(stdin === undefined ? {} : { stdin }),
    });
    if (code !== 0) throw new Error(`${script}: ${stderr}`);
    return stdout;
  }
}
