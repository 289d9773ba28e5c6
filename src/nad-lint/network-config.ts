import { ConfigObject, isJsonObject, type JsonObject } from "../../cni-plugins/cni/config-object.ts";
import { SUPPORTED_VERSIONS } from "../../cni-plugins/cni/version.ts";

/** `spec.config` as multus reads it: one plugin, or a list of them. */

export interface PluginCall {
  /** What a message says before a key: "" for a single plugin, `plugins[1] (tuning): ` in a list. */
  readonly place: string;
  readonly type: string;
  /** What the plugin gets on stdin. */
  readonly stdin: string;
}

export type NetworkConfig =
  /** multus takes a file of the node that has the network's name. */
  | { readonly form: "on the node" }
  /** Nobody can read it: why, and what to write. */
  | { readonly form: "unreadable"; readonly reason: string }
  | {
      readonly form: "plugins";
      /** Of a long list, the first. */
      readonly calls: readonly PluginCall[];
      /** How many plugins are called. */
      readonly total: number;
    };

/** No configuration has more levels. Plugins run out of memory between 5,000 and 10,000, this process out of stack before. */
const MAX_NESTING = 1000;
/** Where the API server has not yet made a name. */
const PLACEHOLDER_NAME = "network";

/** `name`: of the NetworkAttachmentDefinition; multus puts it into a configuration that has none. */
export function readNetworkConfig(config: string, name: string): NetworkConfig {
  if (config === "") return { form: "on the node" };
  if (isNestedDeeper(config, MAX_NESTING)) {
    return unreadable(
      `is nested more than ${MAX_NESTING} deep: plugins run out of memory, and pods will not start. Write it flat.`,
    );
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(config);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return unreadable(`is not JSON: multus can't read it and pods will not start. Correct its syntax: ${why}.`);
  }
  if (!isJsonObject(parsed)) {
    return unreadable(
      'is not a JSON object: multus can\'t read it and pods will not start. Write {"type": "bridge", ...}.',
    );
  }
  const whole = new ConfigObject(parsed);
  const named = { ...parsed, name: parsed.name || name || PLACEHOLDER_NAME };
  const type = whole.raw("type");
  if (typeof type === "string" && type !== "") {
    // The text itself, where multus adds nothing: the plugin's parser also sees what JSON.parse hides.
    return {
      form: "plugins",
      calls: [{ place: "", type, stdin: parsed.name ? config : JSON.stringify(named) }],
      total: 1,
    };
  }
  const plugins = whole.raw("plugins");
  if (plugins === undefined) {
    return unreadable(
      'has neither "type" nor "plugins": multus can\'t tell which plugin to run. Write "type": "bridge".',
    );
  }
  const advice = 'pods will not start. Write "plugins": [{"type": "bridge"}]';
  if (!Array.isArray(plugins)) return unreadable(`has a "plugins" that is not a list: ${advice}.`);
  if (plugins.length === 0) return unreadable(`has an empty list "plugins": ${advice}.`);
  return readList(plugins, { name: named.name, cniVersion: listVersion(whole) });
}

/** Every plugin of a list gets the list's name and version, and all but the first the result of the one before. */
function readList(plugins: readonly unknown[], common: JsonObject): NetworkConfig {
  const calls: PluginCall[] = [];
  for (const [index, plugin] of plugins.slice(0, MAX_PLUGINS).entries()) {
    const type = isJsonObject(plugin) ? new ConfigObject(plugin).raw("type") : undefined;
    if (!isJsonObject(plugin) || typeof type !== "string" || type === "") {
      return unreadable(`names no plugin in plugins[${index}]: pods will not start. Write {"type": "bridge"} there.`);
    }
    const result = index === 0 ? {} : { prevResult: {} };
    const stdin = JSON.stringify({ ...plugin, ...common, ...result });
    calls.push({ place: `plugins[${index}] (${type.slice(0, MAX_TYPE_CHARS)}): `, type, stdin });
  }
  return { form: "plugins", calls, total: plugins.length };
}

/** Lists have two or three. A tenant may write a mebibyte of them, and each gets the whole list's name. */
const MAX_PLUGINS = 16;

const MAX_TYPE_CHARS = 30;

/** Of a list that has several, a runtime takes the newest that it knows. */
function listVersion(list: ConfigObject): unknown {
  const versions = list.raw("cniVersions");
  const newest = Array.isArray(versions) ? SUPPORTED_VERSIONS.findLast((one) => versions.includes(one)) : undefined;
  return newest ?? list.raw("cniVersion");
}

function unreadable(reason: string): NetworkConfig {
  return { form: "unreadable", reason: `spec.config ${reason}` };
}

/** Counts brackets and does not parse: JSON.stringify and other parsers fail at depths that JSON.parse accepts. */
function isNestedDeeper(json: string, limit: number): boolean {
  // Each level has two brackets.
  if (json.length < 2 * limit) return false;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (character === '"') quoted = !quoted;
    else if (quoted) at += character === "\\" ? 1 : 0;
    else if (character === "[" || character === "{") {
      if (++depth > limit) return true;
    } else if (character === "]" || character === "}") depth--;
  }
  return false;
}
