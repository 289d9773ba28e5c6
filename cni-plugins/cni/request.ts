/** One call of the plugin: the environment and stdin, checked. */

import { EFBIG, EILSEQ } from "../netlink/errno.ts";
import { CniError, DECODING_FAILURE, INCOMPATIBLE_VERSION, INVALID_ENVIRONMENT, IO_FAILURE } from "./cni-error.ts";
import { ConfigObject, isJsonObject, type Warn } from "./config-object.ts";
import { interfaceNameFault, isIdentifier, newInterfaceNameFault } from "./identifier.ts";
import { atLeast, type CniVersion, DEFAULT_VERSION, parseVersion } from "./version.ts";

export type Command = "ADD" | "DEL" | "CHECK" | "GC" | "STATUS";

export interface Request {
  readonly command: Command;
  readonly version: CniVersion;
  readonly network: string;
  readonly containerId: string;
  /** "" when a DEL comes without one. */
  readonly netns: string;
  /** The runtime says that the container's namespace may be the plugin's own. */
  readonly netnsOverride: boolean;
  readonly ifname: string;
  readonly args: string;
  /** Where other plugins are: directories with colons between them. */
  readonly path: string;
  readonly config: ConfigObject;
  /** The configuration as it came, for delegates. */
  readonly stdin: string;
}

/** What names an attachment within its network. */
export type ContainerInterface = Pick<Request, "containerId" | "ifname">;

interface CommandRule {
  readonly since: CniVersion;
  readonly needs: readonly string[];
}

const CONTAINER = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"];

const COMMANDS: Readonly<Record<Command, CommandRule>> = {
  ADD: { since: "0.1.0", needs: CONTAINER },
  DEL: { since: "0.1.0", needs: ["CNI_CONTAINERID", "CNI_IFNAME", "CNI_PATH"] },
  CHECK: { since: "0.4.0", needs: CONTAINER },
  GC: { since: "1.1.0", needs: ["CNI_PATH"] },
  STATUS: { since: "1.1.0", needs: ["CNI_PATH"] },
};

/** The network configuration as it came on stdin. Its version decides how everything else is read and answered. */
export interface NetworkConfig {
  readonly version: CniVersion;
  readonly config: ConfigObject;
  readonly stdin: string;
}

/** `warn` gets a sentence for each value that is taken although its type is wrong. */
export function parseNetworkConfig(stdin: string, warn: Warn = () => {}): NetworkConfig {
  let parsed: unknown;
  try {
    parsed = JSON.parse(stdin);
  } catch (error) {
    const [problem, details] =
      error instanceof SyntaxError
        ? ["is not valid JSON: correct its syntax", error.message]
        : [
            "is nested too deeply or has too many values for the plugin's memory: make it smaller",
            `${stdin.length} characters`,
          ];
    throw new CniError(DECODING_FAILURE, `the network configuration on stdin ${problem}`, details);
  }
  if (!isJsonObject(parsed)) {
    throw new CniError(DECODING_FAILURE, "the network configuration on stdin must be a JSON object");
  }
  const config = new ConfigObject(parsed, "", warn);
  const version = config.raw("cniVersion") ?? "";
  if (typeof version !== "string") {
    throw new CniError(DECODING_FAILURE, config.fault("cniVersion", "a string").message);
  }
  return { version: parseVersion(version || DEFAULT_VERSION), config, stdin };
}

/** `env` gives "" for a variable that is not set. */
export function readRequest(command: string, env: (name: string) => string, networkConfig: NetworkConfig): Request {
  const { version, config, stdin } = networkConfig;
  if (!isCommand(command)) {
    throw new CniError(
      INVALID_ENVIRONMENT,
      `unknown CNI_COMMAND ${command}: it must be ADD, DEL, CHECK, GC, STATUS or VERSION`,
    );
  }
  const { since, needs } = COMMANDS[command];
  const missing = needs.filter((name) => env(name) === "");
  if (missing.length > 0) {
    throw new CniError(
      INVALID_ENVIRONMENT,
      `${command} needs ${missing.join(", ")} in the environment: the runtime must set it`,
    );
  }
  if (!atLeast(version, since)) {
    throw new CniError(
      INCOMPATIBLE_VERSION,
      `${command} needs cniVersion ${since} or later, the configuration has ${version}`,
    );
  }
  const network = config.raw("name") ?? "";
  if (typeof network !== "string") {
    throw new CniError(DECODING_FAILURE, config.fault("name", "a string").message);
  }
  if (!isIdentifier(network))
    throw config.fault("name", "letters, digits, '_', '.' and '-', beginning with a letter or digit");
  const containerId = env("CNI_CONTAINERID");
  if (containerId !== "" && !isIdentifier(containerId)) {
    throw new CniError(
      INVALID_ENVIRONMENT,
      `CNI_CONTAINERID "${containerId}" may have letters, digits, '_', '.' and '-' only`,
    );
  }
  const ifname = env("CNI_IFNAME");
  // An attachment that a predecessor made under such a name can be deleted.
  const faultOf = command === "DEL" ? interfaceNameFault : newInterfaceNameFault;
  const fault = ifname === "" ? undefined : faultOf(ifname);
  if (fault !== undefined) {
    throw new CniError(INVALID_ENVIRONMENT, `CNI_IFNAME "${ifname}" ${fault}: choose another name`);
  }
  const override = env("CNI_NETNS_OVERRIDE").toUpperCase();
  return {
    command,
    version,
    network,
    containerId,
    netns: env("CNI_NETNS"),
    netnsOverride: override === "TRUE" || override === "1",
    ifname,
    args: env("CNI_ARGS"),
    path: env("CNI_PATH"),
    config,
    stdin,
  };
}

export function stdinFault(errno: number | undefined, limitBytes: number, cause: string): CniError {
  const problems: Readonly<Record<number, string>> = {
    [EFBIG]: `has more than ${limitBytes} bytes: make it smaller`,
    [EILSEQ]: "is not UTF-8: correct its encoding",
  };
  const problem = problems[errno ?? 0] ?? "can't be read: the runtime must give it";
  return new CniError(IO_FAILURE, `the network configuration on stdin ${problem}`, `${cause}, errno ${errno}`);
}

function isCommand(text: string): text is Command {
  return Object.hasOwn(COMMANDS, text);
}

/** Of a GC; undefined, with a warning, where the runtime lists nothing: then nothing is known to be unused. */
export function validAttachments(
  config: ConfigObject,
  warn: (text: string) => void,
): readonly ContainerInterface[] | undefined {
  const key = "cni.dev/valid-attachments";
  if (!config.has(key)) {
    warn(
      `GC removes nothing: the network configuration has no "${key}", so the plugin can't know which attachments are in use`,
    );
    return undefined;
  }
  return config.objects(key).map((attachment) => ({
    containerId: attachment.string("containerID") ?? "",
    ifname: attachment.string("ifname") ?? "",
  }));
}

export function isAmong(valid: readonly ContainerInterface[], { containerId, ifname }: ContainerInterface): boolean {
  return valid.some((one) => one.containerId === containerId && one.ifname === ifname);
}
