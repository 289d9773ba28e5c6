/** Kubeconfig files with everything inside, so that they can be copied anywhere. */
import type { KeyPair } from "./authority.ts";

export interface KubeconfigParts {
  readonly server: string;
  readonly caCertificate: string;
  readonly user: string;
  readonly credentials: KeyPair;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

export function renderKubeconfig({ server, caCertificate, user, credentials }: KubeconfigParts): string {
  return `apiVersion: v1
kind: Config
clusters:
  - name: local
    cluster:
      server: ${server}
      certificate-authority-data: ${base64(caCertificate)}
users:
  - name: ${JSON.stringify(user)}
    user:
      client-certificate-data: ${base64(credentials.cert)}
      client-key-data: ${base64(credentials.key)}
contexts:
  - name: local
    context:
      cluster: local
      user: ${JSON.stringify(user)}
current-context: local
`;
}
