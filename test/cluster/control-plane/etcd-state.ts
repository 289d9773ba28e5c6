/**
 * The saved state of a control plane, so that test files can share one: starting an API server takes seconds, removing
 * what a test file left does not. It is written to etcd directly; to the API server it looks as if another API server
 * had written it.
 */
import type { ControlPlaneAccess } from "./access.ts";
import { waitUntil } from "./readiness.ts";

interface Entry {
  /** Base64, as values are. */
  readonly key: string;
  readonly value?: string;
  readonly mod_revision: string;
}

type Operation =
  | { readonly request_delete_range: { readonly key: string } }
  | { readonly request_put: { readonly key: string; readonly value: string } };

const PREFIX = "/registry/";
/** What the API server itself writes all the time: its leases, and an APIService for each version of a CRD. */
const ITS_OWN = ["leases/kube-system/", "masterleases/", "apiregistration.k8s.io/"].map((path) => PREFIX + path);
const DEFINITIONS = `${PREFIX}apiextensions.k8s.io/customresourcedefinitions/`;
/** etcd's default limit is 128. */
const OPERATIONS_AT_ONCE = 100;
const FORGOTTEN_DEADLINE_MS = 20_000;

const encode = (text: string): string => Buffer.from(text).toString("base64");
const decode = (text: string): string => Buffer.from(text, "base64").toString();

export class EtcdState {
  readonly #controlPlane: ControlPlaneAccess;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(controlPlane: ControlPlaneAccess, entries: ReadonlyMap<string, Entry>) {
    this.#controlPlane = controlPlane;
    this.#entries = entries;
  }

  static async capture(controlPlane: ControlPlaneAccess): Promise<EtcdState> {
    return new EtcdState(controlPlane, await read(controlPlane.etcdUrl, false));
  }

  /** Resolves when the API server has forgotten the kinds that are no more. */
  async restore(): Promise<void> {
    const { etcdUrl } = this.#controlPlane;
    const now = await read(etcdUrl, true);
    const added = [...now.keys()].filter((key) => !this.#entries.has(key));
    const lost = [...this.#entries.values()].filter(
      ({ key, mod_revision }) => now.get(key)?.mod_revision !== mod_revision,
    );
    const operations: Operation[] = [
      ...added.map((key) => ({ request_delete_range: { key } })),
      ...lost.map(({ key, value = "" }) => ({ request_put: { key, value } })),
    ];
    for (let from = 0; from < operations.length; from += OPERATIONS_AT_ONCE) {
      await post(`${etcdUrl}/v3/kv/txn`, { success: operations.slice(from, from + OPERATIONS_AT_ONCE) });
    }
    const definitions = added.map(decode).filter((key) => key.startsWith(DEFINITIONS));
    const groups = new Set(definitions.map((key) => key.slice(key.indexOf(".", DEFINITIONS.length) + 1)));
    for (const group of groups) await this.#forgotten(group);
  }

  async #forgotten(group: string): Promise<void> {
    const gone = async (): Promise<boolean> =>
      (await this.#controlPlane.request("GET", `/apis/${group}`))?.status === 404;
    const never = Promise.withResolvers<never>().promise;
    await waitUntil(`the API server has forgotten the group ${group}`, gone, FORGOTTEN_DEADLINE_MS, never);
  }
}

/** Everything but the API server's own, by key. */
async function read(etcdUrl: string, keysOnly: boolean): Promise<Map<string, Entry>> {
  const end = `${PREFIX.slice(0, -1)}0`; // "0" follows "/"
  const range = { key: encode(PREFIX), range_end: encode(end), keys_only: keysOnly };
  const { kvs = [] } = (await post(`${etcdUrl}/v3/kv/range`, range)) as { kvs?: Entry[] };
  const entries = kvs.filter(({ key }) => !ITS_OWN.some((prefix) => decode(key).startsWith(prefix)));
  return new Map(entries.map((entry) => [entry.key, entry]));
}

async function post(url: string, body: object): Promise<unknown> {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}
