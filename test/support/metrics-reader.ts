import { request } from "node:https";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { grant } from "../../src/operator/manifests/rbac.ts";
import { issueToken } from "../mac-pool/account.ts";
import { createAny } from "./create-any.ts";

const ACCOUNT = { namespace: "default", name: "metrics-reader" };

/** An account that may read metrics. It asks processes of this machine, as Prometheus would. */
export class MetricsReader {
  readonly #token: string;

  private constructor(token: string) {
    this.#token = token;
  }

  static async create(admin: KubeClient): Promise<MetricsReader> {
    await admin.create(RESOURCES.serviceAccounts, { metadata: ACCOUNT });
    const rules = [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }];
    for (const object of grant({ name: ACCOUNT.name, rules, to: ACCOUNT })) await createAny(admin, object);
    return new MetricsReader(await issueToken(admin, ACCOUNT));
  }

  /** The text at a port of loopback. Rejects while nobody listens there, and for any other answer than 200. */
  async read(port: number): Promise<string> {
    const headers = { authorization: `Bearer ${this.#token}` };
    const options = { host: "127.0.0.1", port, path: "/metrics", headers, rejectUnauthorized: false, agent: false };
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const asked = request(options, async (response) => {
      const body = (await response.toArray()).join("");
      if (response.statusCode === 200) resolve(body);
      else reject(new Error(`metrics at port ${port}: ${response.statusCode} ${body}`));
    });
    asked.on("error", reject);
    asked.end();
    return promise;
  }
}
