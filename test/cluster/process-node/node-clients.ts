/** API clients that act with a client certificate they were handed. */
import { KubeClient } from "../../../src/kube/client/client.ts";
import type { Credentials } from "../../../src/kube/client/credentials.ts";
import type { KeyPair } from "../control-plane/authority.ts";
import type { NodeConfig } from "./node-config.ts";

export function clientOf({ apiServer, caCertificate }: NodeConfig, pair: KeyPair, userAgent: string): KubeClient {
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
