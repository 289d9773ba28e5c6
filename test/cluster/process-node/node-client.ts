import { KubeClient } from "../../../src/kube/client/client.ts";
import type { Credentials } from "../../../src/kube/credentials/credentials.ts";
import type { NodeConfig } from "./node-config.ts";

const userAgent = "process-node";

type Access = Pick<NodeConfig, "apiServer" | "caCertificate" | "credentials">;

/** A client with the node's certificate. */
export function clientOf({ apiServer, caCertificate, credentials: pair }: Access): KubeClient {
  const tls = { ca: caCertificate, cert: pair.cert, key: pair.key };
  const credentials: Credentials = {
    server: apiServer,
    namespace: undefined,
    source: userAgent,
    current: async () => ({ tls, headers: {} }),
    refresh: () => {},
  };
  return new KubeClient({ credentials, userAgent });
}
