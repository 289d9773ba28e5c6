import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { request } from "node:https";
import { connect, type TLSSocket } from "node:tls";
import type { Credentials } from "../../../kube/credentials/credentials.ts";
import type { CertificateSource } from "../../../kube/server/certificate-source.ts";
import type { Replica } from "./replicas.ts";

const MAX_BYTES = 4 * 1024 * 1024;

/**
 * GET of another replica with the own service account. All replicas serve one certificate, and the token is sent only to a
 * process that has its key: an address of a pod may belong to somebody else a moment later.
 */
export function replicaAsker(
  credentials: Credentials,
  tls: CertificateSource,
): (replica: Replica, path: string, signal: AbortSignal) => Promise<unknown> {
  return async (replica, path, signal) => {
    const { headers } = await credentials.current();
    const { authorization } = headers;
    const own = tls.current();
    if (authorization === undefined || own === undefined) throw new Error("there is no token or no certificate");
    const fingerprint = new X509Certificate(own.cert).fingerprint256;
    const socket = await connected(replica, fingerprint, signal);
    try {
      return JSON.parse(await get(socket, path, authorization, signal));
    } finally {
      socket.destroy();
    }
  };
}

async function connected({ host, port }: Replica, fingerprint: string, signal: AbortSignal): Promise<TLSSocket> {
  signal.throwIfAborted();
  const socket = connect({ host, port, rejectUnauthorized: false });
  // The request reports later errors.
  socket.on("error", () => {});
  try {
    await once(socket, "secureConnect", { signal });
    if (socket.getPeerCertificate().fingerprint256 === fingerprint) return socket;
    throw new Error(`${host} has another certificate than this replica`);
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

function get(socket: TLSSocket, path: string, authorization: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { path, headers: { authorization }, createConnection: () => socket, signal };
    const asked = request(options, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) asked.destroy(new Error(`the answer is longer than ${MAX_BYTES} bytes`));
        else chunks.push(chunk);
      });
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(chunks).toString("utf8"));
        else reject(new Error(`the answer has status ${answer.statusCode}`));
      });
    });
    asked.on("error", reject);
    asked.end();
  });
}
