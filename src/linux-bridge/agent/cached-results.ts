import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, parseObject } from "../../kube/json-path.ts";
import { type AttachmentName, namesIn, type RecordedAttachment } from "./recorded-attachments.ts";

/**
 * What libcni caches of every ADD until its DEL is done: `{kind: "cniCacheV1", containerId, ifName, networkName, netns,
 * config: base64, cniArgs: [[name, value], ...], result}`; `netns` since libcni 1.2, before that the result's `sandbox` says it.
 */

/** Names of the executables that stand for ours, also when the reference plugins have them. */
const EXECUTABLES: Readonly<Record<string, string>> = {
  bridge: "bridge",
  "cnv-bridge": "bridge",
  tuning: "tuning",
  "cnv-tuning": "tuning",
};

/** One for each plugin of ours in each network's list, in the order of a DEL. None where there is no cache. */
export async function readCachedResults(directories: readonly string[]): Promise<RecordedAttachment[]> {
  const records: RecordedAttachment[] = [];
  for (const directory of directories) {
    for (const name of await namesIn(directory)) {
      records.push(...(await readCachedResult(join(directory, name))));
    }
  }
  return records;
}

/** `NAMESPACE/NAME` of the pod that has the attachment, as its ADD was told; undefined where no cache knows it. */
export async function podOf(
  { containerId, ifname }: AttachmentName,
  directories: readonly string[],
): Promise<string | undefined> {
  for (const directory of directories) {
    for (const name of await namesIn(directory)) {
      if (!name.endsWith(`-${containerId}-${ifname}`)) continue;
      const { cniArgs } = parseObject(await readFile(join(directory, name), "utf8").catch(() => "")) ?? {};
      const args = Array.isArray(cniArgs) ? Object.fromEntries(cniArgs.filter(Array.isArray)) : {};
      if (args.K8S_POD_NAME) return `${args.K8S_POD_NAMESPACE}/${args.K8S_POD_NAME}`;
    }
  }
  return undefined;
}

/** None where it is gone, or can't be understood. */
export async function readCachedResult(path: string): Promise<RecordedAttachment[]> {
  return parseCachedResult(path, await readFile(path, "utf8").catch(() => ""));
}

export function parseCachedResult(file: string, text: string): RecordedAttachment[] {
  const cached = parseObject(text);
  if (cached?.kind !== "cniCacheV1") return [];
  const { containerId, ifName: ifname, networkName: network } = cached;
  const netns = netnsOf(cached);
  if (typeof containerId !== "string" || typeof ifname !== "string" || typeof network !== "string") return [];
  if (typeof cached.config !== "string" || netns === undefined) return [];
  const config = parseObject(Buffer.from(cached.config, "base64").toString());
  if (config === undefined) return [];
  return pluginsOf(config).flatMap((one, index) => {
    const plugin = Object.hasOwn(EXECUTABLES, String(one.type)) ? EXECUTABLES[String(one.type)] : undefined;
    if (plugin === undefined) return [];
    return [{ file: `${file}#${index}`, plugin, network, containerId, ifname, netns, config: JSON.stringify(one) }];
  });
}

/** A list's plugins as a runtime calls them, last first; or the one plugin that the configuration is. */
function pluginsOf(config: Record<string, unknown>): Record<string, unknown>[] {
  const { plugins, name, cniVersion } = config;
  if (!Array.isArray(plugins)) return [config];
  const version = cniVersion === undefined ? {} : { cniVersion };
  return plugins
    .filter(isObject)
    .map((plugin) => ({ ...plugin, ...version, name }))
    .reverse();
}

function netnsOf({ netns, ifName, result }: Record<string, unknown>): string | undefined {
  if (typeof netns === "string" && netns !== "") return netns;
  const interfaces = isObject(result) && Array.isArray(result.interfaces) ? result.interfaces.filter(isObject) : [];
  const sandbox = interfaces.find(({ name, sandbox: one }) => name === ifName && one)?.sandbox;
  return typeof sandbox === "string" ? sandbox : undefined;
}
