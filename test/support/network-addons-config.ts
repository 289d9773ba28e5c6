/** A NetworkAddonsConfig kind without a schema, for tests of processes that only read whether a component is on. */
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { isNotFound } from "../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { eventually } from "./eventually.ts";

const { group, version, plural, kind } = NETWORK_ADDONS_CONFIGS;
const HOLDER = "example.com/held";
const REF = { name: "cluster" };

export class ConfigKind {
  readonly #admin: KubeClient;

  constructor(admin: KubeClient) {
    this.#admin = admin;
  }

  /** Resolves when the API server serves the kind. */
  async install(): Promise<void> {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    await this.#admin.create(RESOURCES.crds, {
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Cluster",
        names: { plural, kind },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    });
    await eventually("NetworkAddonsConfigs are served", () => this.#admin.list(NETWORK_ADDONS_CONFIGS));
  }

  /** Held by a finalizer, as the operator's keeps it. */
  async create(spec: object): Promise<void> {
    await this.#admin.create(NETWORK_ADDONS_CONFIGS, { metadata: { ...REF, finalizers: [HOLDER] }, spec });
  }

  async setSpec(spec: object): Promise<void> {
    await this.#patch({ spec });
  }

  /** Deletes it; the finalizer keeps it until `release`. */
  async beginDeletion(): Promise<void> {
    await this.#admin.delete(NETWORK_ADDONS_CONFIGS, REF);
  }

  /** Lets it go, whatever state it is in. */
  async remove(): Promise<void> {
    try {
      await this.#patch({ metadata: { finalizers: null } });
      await this.#admin.delete(NETWORK_ADDONS_CONFIGS, REF);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #patch(body: object): Promise<void> {
    await this.#admin.patch(NETWORK_ADDONS_CONFIGS, REF, { type: "merge", body });
  }
}
