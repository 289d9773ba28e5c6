import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { SERVICE_ACCOUNT_DIRECTORY } from "../../src/kube/credentials/credentials.ts";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";

/** As long as the longest of these tests, with ten thousand reviews of a megabyte. */
const TOKEN_SECONDS = 3 * 3_600;

/** What a token ends with. One of a pod names its node too. */
export interface BoundObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** A token of a service account, as a pod gets one. */
export async function issueToken(
  admin: KubeClient,
  account: { readonly name: string; readonly namespace: string },
  boundObjectRef?: BoundObject,
): Promise<string> {
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: TOKEN_SECONDS, ...(boundObjectRef === undefined ? {} : { boundObjectRef }) },
  };
  const issued = await admin.createSubresource<{ status?: { token?: string } }>(
    RESOURCES.serviceAccounts,
    account,
    "token",
    request as object,
  );
  return issued.status?.token ?? "";
}

/** What a process needs to act for an account: words in front of its command line, and environment. */
export interface Account {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export async function kubeconfigAccount(directory: string, kubeconfig: string): Promise<Account> {
  const file = join(directory, "kubeconfig");
  await writeFile(file, kubeconfig, { mode: 0o600 });
  return { argv: [], env: { KUBECONFIG: file } };
}

/** As kubelet gives it to a pod: files at a fixed place, which are there in a mount namespace of the process only. */
export async function mountedAccount(
  directory: string,
  token: string,
  namespace: string,
  { authority, url }: ControlPlaneAccess,
): Promise<Account> {
  const files = { "ca.crt": authority.certificate, token, namespace };
  for (const [file, text] of Object.entries(files)) await writeFile(join(directory, file), text, { mode: 0o600 });
  const { hostname, port } = new URL(url);
  const place = SERVICE_ACCOUNT_DIRECTORY;
  const mount = `mount -t tmpfs none /run && mkdir -p ${place} && mount --bind "$0" ${place} && exec "$@"`;
  return {
    argv: ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, directory],
    env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
  };
}
