import { Pool } from "undici";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/client/credentials.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";
import { installWidgets } from "../support/real-api-server.ts";
import type { Backend, BackendAnswer, BackendRequest } from "./backend.ts";

/** A real API server and etcd; requests are handed on with an administrator's rights. */
export async function startRealBackend(): Promise<Backend> {
  const controlPlane = await borrowControlPlane();
  const credentials = await credentialsFromKubeconfig(controlPlane.kubeconfig);
  await using client = new KubeClient({ credentials });
  await installWidgets(client);
  const { tls } = await credentials.current();
  const pool = new Pool(credentials.server, { connect: { ...tls }, bodyTimeout: 0 });
  return {
    handle: async ({ method, path, headers, body, signal }: BackendRequest): Promise<BackendAnswer> => {
      const { "content-type": type } = headers;
      const answer = await pool.request({
        method: method as "GET",
        path,
        headers: { accept: "application/json", ...(type && { "content-type": type }) },
        body: body === "" ? null : body,
        signal,
      });
      const kept = Object.entries(answer.headers).filter(([name]) => ["content-type", "retry-after"].includes(name));
      return {
        status: answer.statusCode,
        headers: Object.fromEntries(kept) as Record<string, string>,
        body: answer.body,
      };
    },
    [Symbol.asyncDispose]: async () => {
      await pool.destroy();
      await controlPlane[Symbol.asyncDispose]();
    },
  };
}
