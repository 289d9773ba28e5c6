import { Pool } from "undici";
import { credentialsFromKubeconfig } from "../../../src/kube/credentials/credentials.ts";
import type { ControlPlaneAccess } from "../../cluster/control-plane/access.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";
import { adminClient, installWidgets } from "../support/real-api-server.ts";
import type { Backend, BackendAnswer, BackendRequest } from "./backend.ts";

/** A borrowed API server and etcd with widgets in it. */
export async function startRealBackend(): Promise<Backend> {
  const controlPlane = await borrowControlPlane();
  await using client = await adminClient(controlPlane);
  await installWidgets(client);
  const backend = await realBackend(controlPlane);
  return {
    handle: backend.handle,
    [Symbol.asyncDispose]: async () => {
      await backend[Symbol.asyncDispose]();
      await controlPlane[Symbol.asyncDispose]();
    },
  };
}

/** Requests are handed on with an administrator's rights. */
export async function realBackend(controlPlane: ControlPlaneAccess): Promise<Backend> {
  const credentials = await credentialsFromKubeconfig(controlPlane.kubeconfig);
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
    },
  };
}
