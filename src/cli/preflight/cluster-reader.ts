import { NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../../api/names.ts";
import { ApiError, ConnectionError, isForbidden, isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, type ObjectRef, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import type { Read } from "../way/facts.ts";
import { quoted } from "../way/step.ts";

interface Select {
  readonly namespace?: string;
  readonly fieldSelector?: string;
}

/** Undefined for what is not there, and for what is not known. */
export function knownValue<T>(read: Read<T>): T | undefined {
  return "value" in read ? read.value : undefined;
}

/** Versions that the API server serves, by their group. */
export type ServedGroups = ReadonlyMap<string, readonly string[]>;

/** Reads a cluster in which nothing of ours may be yet. What the user may not read becomes the right that they need. */
export class ClusterReader {
  readonly #client: KubeClient;
  readonly #options: { readonly managedFields: false; readonly timeoutMs: number };
  #groups: Promise<Read<ServedGroups>> | undefined;

  constructor(client: KubeClient, timeoutMs: number) {
    this.#client = client;
    this.#options = { managedFields: false, timeoutMs };
  }

  /** The first question: it throws where nothing can be asked. */
  async version(): Promise<Read<string>> {
    const { status, body } = await this.#client.raw("GET", "/version", this.#options);
    const { gitVersion } = (body ?? {}) as { readonly gitVersion?: unknown };
    if (status === 200 && typeof gitVersion === "string") return { value: gitVersion };
    if (status === 403) return { unknown: "needs get on /version" };
    throw answered(status, "/version");
  }

  groups(): Promise<Read<ServedGroups>> {
    this.#groups ??= this.#readGroups();
    return this.#groups;
  }

  /** Undefined where the API server does not serve the kind. */
  async list<T extends KubeObject>(resource: Resource<T>, select: Select = {}): Promise<Read<readonly T[]>> {
    if (await this.#isAbsent(resource)) return { value: undefined };
    const read = await known(
      this.#client.list(resource, { ...this.#options, ...select }),
      `needs list on ${nameOf(resource)}${whereOf(select)}`,
    );
    return "unknown" in read ? read : { value: read.value?.items };
  }

  async get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<Read<T>> {
    if (await this.#isAbsent(resource)) return { value: undefined };
    return known(
      this.#client.get(resource, ref, this.#options),
      `needs get on ${nameOf(resource)} ${ref.name}${whereOf(ref)}`,
    );
  }

  /** Whether an account may write the status of the NetworkAddonsConfig; undefined where the user may not ask that. */
  async mayWriteStatus(namespace: string, account: string): Promise<boolean | undefined> {
    const user = `system:serviceaccount:${namespace}:${account}`;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
    const { group, plural: resource } = NETWORK_ADDONS_CONFIGS;
    for (const verb of ["patch", "update"]) {
      const what = { verb, group, resource, subresource: "status", name: NETWORK_ADDONS_CONFIG_NAME };
      const review = { metadata: {}, spec: { user, groups, resourceAttributes: what } };
      const asked = await known(this.#client.create(RESOURCES.subjectAccessReviews, review, this.#options), "");
      if ("unknown" in asked) return undefined;
      if (asked.value?.status?.allowed === true) return true;
    }
    return false;
  }

  /** Who may not read a kind is refused whether the kind is served or not. */
  async #isAbsent({ group, version }: Resource): Promise<boolean> {
    if (group === "") return false;
    const groups = await this.groups();
    return "value" in groups && groups.value?.get(group)?.includes(version) !== true;
  }

  async #readGroups(): Promise<Read<ServedGroups>> {
    const { status, body } = await this.#client.raw("GET", "/apis", this.#options);
    if (status === 403) return { unknown: "needs get on /apis" };
    if (status !== 200) throw answered(status, "/apis");
    const { groups = [] } = body as { readonly groups?: readonly ServedGroup[] };
    return { value: new Map(groups.map(({ name, versions = [] }) => [name, versions.map(({ version }) => version)])) };
  }
}

interface ServedGroup {
  readonly name: string;
  readonly versions?: readonly { readonly version: string }[];
}

async function known<T>(read: Promise<T>, right: string): Promise<Read<T>> {
  try {
    return { value: await read };
  } catch (error) {
    if (isForbidden(error)) return { unknown: right };
    if (isNotFound(error)) return { value: undefined };
    if (error instanceof ApiError || error instanceof ConnectionError) return { unknown: quoted(error.message) };
    throw error;
  }
}

function answered(status: number, path: string): ApiError {
  const message = `the API server answered ${status} to GET ${path}`;
  return new ApiError({ status, reason: "Unknown", message, request: `GET ${path}` });
}

function nameOf({ plural, group }: Resource): string {
  return group === "" || RESOURCES_OF_KUBERNETES.has(group) ? plural : `${plural}.${group}`;
}

const RESOURCES_OF_KUBERNETES = new Set(Object.values(RESOURCES).map(({ group }) => group));

function whereOf({ namespace }: Pick<ObjectRef, "namespace">): string {
  return namespace === undefined ? "" : ` in namespace ${namespace}`;
}
