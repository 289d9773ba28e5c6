/** Kubeconfig files with everything inside, so that they can be copied anywhere. */
import type { KeyPair } from "./authority.ts";

export interface KubeconfigParts {
  readonly server: string;
  readonly caCertificate: string;
  readonly user: string;
  readonly credentials: KeyPair | { readonly token: string };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

export function renderKubeconfig({ server, caCertificate, user, credentials }: KubeconfigParts): string {
  const shown =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": base64(credentials.cert),
          "client-key-data": base64(credentials.key),
        };
  return `apiVersion: v1
kind: Config
clusters:
  - name: local
    cluster:
      server: ${server}
      certificate-authority-data: ${base64(caCertificate)}
users:
  - name: ${JSON.stringify(user)}
    user: ${JSON.stringify(shown)}
contexts:
  - name: local
    context:
      cluster: local
      user: ${JSON.stringify(user)}
current-context: local
`;
}
