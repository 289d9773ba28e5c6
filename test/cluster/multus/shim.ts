/** What a runtime gets from multus' shim on this node: where the configuration of a thick multus is in place. */
import { existsSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { CNI_BIN_DIRECTORY } from "../node-root.ts";

const CONFIG = "/etc/cni/net.d/00-multus.conf";
const SOCKET = "/run/multus/multus.sock";
/** Where this runtime looks for plugins. */
const RUNTIME_DIRECTORIES = [CNI_BIN_DIRECTORY, "/var/lib/cni/bin"];

/** The directories in which multus finds plugins. Throws what a runtime says when multus attaches nothing. */
export async function askShim(): Promise<readonly string[]> {
  if (!existsSync(CONFIG)) return [CNI_BIN_DIRECTORY];
  if (!RUNTIME_DIRECTORIES.some((directory) => existsSync(join(directory, "multus-shim")))) {
    throw new Error(`failed to find plugin "multus-shim" in path [${RUNTIME_DIRECTORIES.join(" ")}]`);
  }
  try {
    return (JSON.parse(await post()) as { path: string[] }).path;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): ${said}`);
  }
}

function post(): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: SOCKET, path: "/cni", method: "POST", agent: false }, async (answer) => {
      const text = (await answer.toArray()).join("");
      if (answer.statusCode === 200) resolve(text);
      else reject(new Error(`CNI request failed with status ${answer.statusCode}: '${text}'`));
    });
    call.on("error", (error) => reject(new Error(`failed to send CNI request: ${error.message}`)));
    call.end();
  });
}
