/** What a user of a control plane holds, whoever started it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Authority, KeyPair } from "./authority.ts";
import { renderKubeconfig } from "./kubeconfig.ts";
import { type Answer, httpsRequest } from "./readiness.ts";

export interface ControlPlanePlace {
  /** The API server's. */
  readonly url: string;
  /** Where etcd listens, without TLS. */
  readonly etcdUrl: string;
  readonly kubectlPath: string;
  /** For kubeconfigs and whatever else goes with it. */
  readonly directory: string;
  readonly authority: Authority;
}

export const ADMIN_GROUP = "system:masters";

export abstract class ControlPlaneAccess implements AsyncDisposable, ControlPlanePlace {
  readonly url: string;
  readonly etcdUrl: string;
  readonly kubectlPath: string;
  readonly directory: string;
  readonly authority: Authority;
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  #admin: KeyPair = { cert: "", key: "" };
  #kubeconfigText = "";

  constructor({ url, etcdUrl, kubectlPath, directory, authority }: ControlPlanePlace) {
    this.url = url;
    this.etcdUrl = etcdUrl;
    this.kubectlPath = kubectlPath;
    this.directory = directory;
    this.authority = authority;
    this.kubeconfig = join(directory, "admin.kubeconfig");
  }

  /** The administrator's kubeconfig. */
  get kubeconfigText(): string {
    return this.#kubeconfigText;
  }

  /** One request as the administrator, for what is needed before there is a client; undefined when nobody answers. */
  request(method: string, path: string, body?: object): Promise<Answer | undefined> {
    return httpsRequest(method, `${this.url}${path}`, { ca: this.authority.certificate, ...this.#admin }, body);
  }

  /** A kubeconfig for any user: a fresh client certificate with this name and these groups. */
  async userKubeconfig(name: string, groups: readonly string[] = [], server: string = this.url): Promise<string> {
    const credentials = await this.authority.issue({ commonName: name, groups, usage: ["client"] });
    return renderKubeconfig({ server, caCertificate: this.authority.certificate, user: name, credentials });
  }

  /** A kubeconfig for whoever the token is of. */
  tokenKubeconfig(token: string): string {
    const { url: server, authority } = this;
    return renderKubeconfig({ server, caCertificate: authority.certificate, user: "account", credentials: { token } });
  }

  abstract [Symbol.asyncDispose](): Promise<void>;

  /** Makes the administrator's credentials; nothing can be asked before. */
  protected async becomeAdmin(): Promise<void> {
    this.#admin = await this.authority.issue({ commonName: "admin", groups: [ADMIN_GROUP], usage: ["client"] });
    this.#kubeconfigText = renderKubeconfig({
      server: this.url,
      caCertificate: this.authority.certificate,
      user: "admin",
      credentials: this.#admin,
    });
    await writeFile(this.kubeconfig, this.#kubeconfigText, { mode: 0o600 });
  }
}
