/** ConfigMaps, Secrets and tokens that a pod refers to, read with the node's own rights. */
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";

export interface KeyReference {
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface IssuedToken {
  readonly token: string;
  readonly expiresAtMs: number;
}

/** Content by key. */
export type Data = Readonly<Record<string, Buffer>>;

export class PodObjects {
  readonly #client: KubeClient;
  readonly #pod: Pod;

  constructor(client: KubeClient, pod: Pod) {
    this.#client = client;
    this.#pod = pod;
  }

  /** Empty when it is optional and not there. */
  async configMap({ name = "", optional }: KeyReference): Promise<Data> {
    return await absentIsEmpty(optional, async () => {
      const { data = {}, binaryData = {} } = await this.#client.get(RESOURCES.configMaps, this.#ref(name));
      return { ...decode(data, "utf8"), ...decode(binaryData, "base64") };
    });
  }

  async secret({ name = "", optional }: KeyReference): Promise<Data> {
    return await absentIsEmpty(optional, async () => {
      const { data = {} } = await this.#client.get(RESOURCES.secrets, this.#ref(name));
      return decode(data, "base64");
    });
  }

  /** A token of the pod's service account that is bound to the pod. */
  async token(audience: string | undefined, expirationSeconds: number | undefined): Promise<IssuedToken> {
    const { name = "", uid = "" } = this.#pod.metadata;
    const request: TokenRequest = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        audiences: audience === undefined ? [] : [audience],
        ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
      },
    };
    const account = this.#pod.spec?.serviceAccountName ?? "default";
    const { status } = await this.#client.createSubresource(
      RESOURCES.serviceAccounts,
      this.#ref(account),
      "token",
      request,
    );
    if (status === undefined) throw new Error(`No token for service account ${account}`);
    return { token: status.token, expiresAtMs: Date.parse(status.expirationTimestamp) };
  }

  #ref(name: string): { name: string; namespace: string } {
    return { name, namespace: this.#pod.metadata.namespace ?? "" };
  }
}

interface TokenRequest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: object;
  readonly status?: { readonly token: string; readonly expirationTimestamp: string };
}

async function absentIsEmpty(optional: boolean | undefined, read: () => Promise<Data>): Promise<Data> {
  try {
    return await read();
  } catch (error) {
    if (optional && isNotFound(error)) return {};
    throw error;
  }
}

const decode = (data: Readonly<Record<string, string>>, encoding: BufferEncoding): Data =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, encoding)]));
