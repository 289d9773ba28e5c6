import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** What the plugin writes before the attachment's name into the alias of its host interface. */
const ALIAS_PREFIX = "cni-bridge:";

/** The links of this process's network namespace; the pod has the host's. */
export const LINKS_DIRECTORY = "/sys/class/net";

/**
 * Names of the host interfaces that the bridge plugin made and that are still there: as long as there is one, the
 * executable is needed to take it away. Those of the reference plugin carry no alias and are not seen.
 */
export async function attachedInterfaces(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  const aliases = await Promise.all(
    names.map(async (name) => ({
      name,
      alias: await readFile(join(directory, name, "ifalias"), "utf8").catch(() => ""),
    })),
  );
  return aliases.filter(({ alias }) => alias.startsWith(ALIAS_PREFIX)).map(({ name }) => name);
}
