/**
 * Stand-in for the daemon of multus (thick, since its #1525), as far as its life on a node goes: it writes its configuration before the
 * others when it is ready, looks for the plugins of the cluster's first network in its `binDir` and its own CNI_PATH and
 * nowhere else, answers on its socket for ten seconds after SIGTERM, and removes its configuration then. Where
 * `/run/multus-refuses` is on the node it answers, and attaches nothing: its error is the file's text. The process node calls
 * the plugins of further networks itself (multus.ts).
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const REFUSES = "/host/run/multus-refuses";
const LAST_ANSWERS_MS = 10_000;
const MASTER_POLL_MS = 1_000;

interface DaemonConfig {
  readonly cniConfigDir: string;
  readonly multusAutoconfigDir: string;
  readonly socketDir: string;
  readonly cniVersion: string;
  readonly binDir?: string;
}

interface Plugin {
  readonly type?: string;
  readonly ipam?: { readonly type?: string };
}

const config = JSON.parse(readFileSync("/etc/cni/net.d/multus.d/daemon-config.json", "utf8")) as DaemonConfig;
const configFile = join(config.cniConfigDir, "00-multus.conf");
const path = [config.binDir ?? "/opt/cni/bin", ...(process.env.CNI_PATH ?? "").split(":").filter(Boolean)];

const firstNetwork = (): string | undefined =>
  readdirSync(config.multusAutoconfigDir)
    .filter((name) => /\.conf(list)?$/.test(name) && !name.startsWith("00-multus"))
    .sort()[0];

/** What multus says when it can't attach a pod to the first network. */
function refusal(): string | undefined {
  if (existsSync(REFUSES)) return readFileSync(REFUSES, "utf8").trim();
  const file = firstNetwork();
  if (file === undefined) return "there is no first network";
  const list = JSON.parse(readFileSync(join(config.multusAutoconfigDir, file), "utf8")) as Plugin & {
    readonly plugins?: readonly Plugin[];
  };
  const types = (list.plugins ?? [list]).flatMap(({ type, ipam }) => [type, ipam?.type]);
  const missing = types.find(
    (type) => type !== undefined && !path.some((directory) => isProgram(join(directory, type))),
  );
  return missing === undefined ? undefined : `failed to find plugin "${missing}" in path [${path.join(" ")}]`;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const error = request.url === "/cni" ? refusal() : undefined;
  response.statusCode = error === undefined ? 200 : 400;
  response.end(error ?? JSON.stringify({ path }));
}

while (firstNetwork() === undefined) await sleep(MASTER_POLL_MS);
rmSync(config.socketDir, { recursive: true, force: true });
mkdirSync(config.socketDir, { recursive: true, mode: 0o700 });
const server = createServer(answer);
await new Promise<void>((resolve) => server.listen(join(config.socketDir, "multus.sock"), resolve));
const written = { cniVersion: config.cniVersion, name: "multus-cni-network", type: "multus-shim" };
writeFileSync(configFile, JSON.stringify(written), { mode: 0o600 });
process.on("SIGTERM", async () => {
  await sleep(LAST_ANSWERS_MS);
  server.close();
  rmSync(configFile, { force: true });
  process.exit(0);
});
