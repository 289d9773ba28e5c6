/**
 * Stand-in for multus v4 (thick): gives pods the networks that their annotation names, by running the real CNI plugins
 * of the node, and writes network-status with an account of its own.
 *
 * Left out: the default-network annotation, device plugins, hot-plug, ips that need IPAM claims, configuration files on
 * the node for NADs without spec.config.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NAD_GROUP, NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { defineResource, type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import type { PodNetwork } from "../process-node/pod-network.ts";
import { type CniEnvironment, cniAdd, cniDelete } from "./cni-command.ts";
import { type Delegate, makeDelegate } from "./delegate.ts";
import { type NetworkSelection, parseNetworks } from "./network-selection.ts";
import { type CniResult, networkStatus } from "./network-status.ts";

interface NetworkAttachmentDefinition extends KubeObject {
  readonly spec?: { readonly config?: string };
}

const NADS = defineResource<NetworkAttachmentDefinition>(
  `${NAD_GROUP}/v1`,
  "NetworkAttachmentDefinition",
  "network-attachment-definitions",
  true,
);

/** An attachment as it is kept for DEL, which must work without the NAD. */
interface Attachment {
  readonly delegate: Delegate;
  readonly env: CniEnvironment;
  readonly result: CniResult;
}

/** One file for each sandbox. As with real multus, a file that is lost means a DEL that is never run. */
const CACHE_DIRECTORY = "/var/lib/cni/multus";

export class Multus {
  readonly #client: KubeClient;
  readonly #log: (line: string) => void;

  constructor(client: KubeClient, log: (line: string) => void) {
    this.#client = client;
    this.#log = log;
  }

  /** Attaches the networks in order. When one fails, those before it are taken down again. */
  async attach(pod: Pod, network: PodNetwork): Promise<void> {
    const { annotations = {}, namespace = "" } = pod.metadata;
    const selections = parseNetworks(annotations[NETWORKS_ANNOTATION] ?? "", namespace);
    if (selections.length === 0) return;
    const attachments: Attachment[] = [];
    try {
      for (const selection of selections) attachments.push(await this.#attachOne(pod, network, selection));
      await mkdir(CACHE_DIRECTORY, { recursive: true });
      await writeFile(cacheFile(network), JSON.stringify(attachments));
      await this.#writeStatus(pod, network, attachments);
    } catch (error) {
      await this.#detachAll(attachments);
      await rm(cacheFile(network), { force: true });
      throw error;
    }
  }

  /** Runs DEL with what was saved at ADD, last network first. A failure does not stop the others. */
  async detach(network: PodNetwork): Promise<void> {
    const saved = await readFile(cacheFile(network), "utf8").catch(() => "[]");
    await this.#detachAll(JSON.parse(saved) as Attachment[]);
    await rm(cacheFile(network), { force: true });
  }

  async #attachOne(pod: Pod, network: PodNetwork, selection: NetworkSelection): Promise<Attachment> {
    const { namespace, name } = selection;
    const nad = await this.#client.get(NADS, { namespace, name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      throw new Error(`cannot find a network-attachment-definition (${name}) in namespace (${namespace})`);
    });
    const delegate = makeDelegate(selection, nad.spec?.config ?? "");
    const env = environment(pod, network, delegate);
    return { delegate, env, result: await cniAdd(delegate, env) };
  }

  async #detachAll(attachments: readonly Attachment[]): Promise<void> {
    for (const { delegate, env, result } of attachments.toReversed()) {
      await cniDelete(delegate, env, result).catch((error: Error) => {
        this.#log(`multus: DEL of ${delegate.network}, ${delegate.interface}: ${error.message}`);
      });
    }
  }

  async #writeStatus(pod: Pod, network: PodNetwork, attachments: readonly Attachment[]): Promise<void> {
    const own = { name: "process-node", interface: "eth0", ips: [network.address], default: true, dns: {} };
    const entries = [own, ...attachments.flatMap(({ delegate, result }) => networkStatus(delegate.network, result))];
    const annotations = { [NETWORK_STATUS_ANNOTATION]: JSON.stringify(entries, undefined, 4) };
    const { name = "", namespace, uid } = pod.metadata;
    await this.#client.patch(
      RESOURCES.pods,
      { name, namespace },
      { type: "merge", body: { metadata: { uid, annotations } } },
      { subresource: "status" },
    );
  }
}

const cacheFile = ({ sandboxId }: PodNetwork): string => join(CACHE_DIRECTORY, `${sandboxId}.json`);

function environment(pod: Pod, network: PodNetwork, delegate: Delegate): CniEnvironment {
  const { namespace = "", name = "", uid = "" } = pod.metadata;
  const pairs = {
    IgnoreUnknown: "true",
    K8S_POD_NAMESPACE: namespace,
    K8S_POD_NAME: name,
    K8S_POD_INFRA_CONTAINER_ID: network.sandboxId,
    K8S_POD_UID: uid,
    ...delegate.args,
  };
  return {
    CNI_CONTAINERID: network.sandboxId,
    CNI_NETNS: network.path,
    CNI_IFNAME: delegate.interface,
    CNI_ARGS: Object.entries(pairs)
      .map(([key, value]) => `${key}=${value}`)
      .join(";"),
  };
}
