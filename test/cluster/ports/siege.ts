/**
 * A program for a node: besieges ports, all at once, and then asks what probes and others ask. Its argument is a list of
 * Port in JSON; it prints a list of Answers.
 */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { networkInterfaces } from "node:os";
import { Crowd, HALF_SENT } from "../../kube/support/crowd.ts";

export interface Port {
  readonly host: string;
  readonly port: number;
  /** What kubelet asks here; none where it asks nothing, which is by HTTPS. */
  readonly probes: readonly { readonly path: string; readonly timeoutSeconds: number }[];
}

export interface Answers {
  readonly host: string;
  readonly port: number;
  /** Status by what was asked; what went wrong in place of it. */
  readonly status: Readonly<Record<string, number | string>>;
}

/** Of each kind. Together more than any port but that of the webhooks takes. */
const CONNECTIONS = 60;
const HALF_A_CLIENT_HELLO = "\x16\x03\x01\x02\x00\x01";
/** What a reader gives an answer. */
const READER_SECONDS = 10;

const own = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .filter(({ family, internal }) => family === "IPv4" && !internal)
  .map(({ address }) => address);

function ask(
  { host, port }: Port,
  { path, seconds, localAddress }: { path: string; seconds: number; localAddress?: string | undefined },
): Promise<number | string> {
  const signal = AbortSignal.timeout(seconds * 1_000);
  const options = { host, port, path, agent: false, signal, ...(localAddress !== undefined && { localAddress }) };
  return new Promise((resolve) => {
    const asked =
      localAddress === undefined ? requestHttp(options) : requestHttps({ ...options, rejectUnauthorized: false });
    asked.once("response", ({ statusCode }) => {
      resolve(statusCode ?? 0);
      asked.destroy();
    });
    asked.once("error", ({ message }) => resolve(message));
    asked.end();
  });
}

async function askAll(port: Port, crowd: Crowd): Promise<Answers> {
  const status: Record<string, number | string> = {};
  for (const { path, timeoutSeconds } of port.probes) {
    status[path] = await ask(port, { path, seconds: timeoutSeconds });
  }
  // With the crowd's address a reader would wait for its turn to shake hands.
  const localAddress = own.find((address) => address !== crowd.localAddress);
  if (port.probes.length === 0) status.reader = await ask(port, { path: "/", seconds: READER_SECONDS, localAddress });
  return { host: port.host, port: port.port, status };
}

const ports = JSON.parse(process.argv[2] ?? "[]") as Port[];
const crowds = await Promise.all(
  ports.map(async ({ host, port }) => {
    const crowd = new Crowd();
    for (const sent of [...Object.values(HALF_SENT), HALF_A_CLIENT_HELLO]) {
      await crowd.connect({ host, port, count: CONNECTIONS, sent });
    }
    return crowd;
  }),
);
const answers = [];
for (const [index, port] of ports.entries()) answers.push(await askAll(port, crowds[index] as Crowd));
process.stdout.write(JSON.stringify(answers));
process.exit(0);
