/**
 * Stand-in for multus v4: gives pods the networks that their annotation names, by running the real CNI plugins
 * of the node, and writes network-status with an account of its own. Where a thick multus is deployed on the node (image/),
 * its daemon is asked first, as the runtime asks the shim. It reads and writes by client-node, not by the
 * product's client, which it helps to judge.
 *
 * Left out: the default-network annotation, device plugins, hot-plug, ips that need IPAM claims, configuration files on
 * the node for NADs without spec.config.
 */

import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  PatchStrategy,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { CNI_BIN_DIRECTORY } from "../node-root.ts";
import type { PodNetwork } from "../process-node/pod-network.ts";
import { type CniEnvironment, cniAdd, cniDelete } from "./cni-command.ts";
import { type Delegate, makeDelegate } from "./delegate.ts";
import { NAD_GROUP } from "./nad-crd.ts";
import { NETWORKS_ANNOTATION, type NetworkSelection, parseNetworks } from "./network-selection.ts";
import { type CniResult, NETWORK_STATUS_ANNOTATION, networkStatus } from "./network-status.ts";

interface NetworkAttachmentDefinition {
  readonly spec?: { readonly config?: string };
}

const NADS = { group: NAD_GROUP, version: "v1", plural: "network-attachment-definitions" };

/** What is read of a pod. */
interface Pod {
  readonly metadata: {
    readonly name?: string | undefined;
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
}

/** The API server, and the client certificate of multus' own account. All certificates and keys are PEM. */
export interface MultusAccess {
  readonly apiServer: string;
  readonly caCertificate: string;
  readonly multusCredentials: { readonly cert: string; readonly key: string };
}

/** An attachment as it is kept for DEL, which must work without the NAD. */
interface Attachment {
  readonly delegate: Delegate;
  readonly env: CniEnvironment;
  readonly result: CniResult;
  /** Where its plugins are. */
  readonly path: readonly string[];
}

/** One file for each sandbox. As with real multus, a file that is lost means a DEL that is never run. */
const CACHE_DIRECTORY = "/var/lib/cni/multus";

export class Multus {
  readonly #objects: CustomObjectsApi;
  readonly #core: CoreV1Api;
  readonly #log: (line: string) => void;

  constructor(access: MultusAccess, log: (line: string) => void) {
    const config = kubeConfig(access);
    this.#objects = config.makeApiClient(CustomObjectsApi);
    this.#core = config.makeApiClient(CoreV1Api);
    this.#log = log;
  }

  /** Attaches the networks in order. When one fails, those before it are taken down again. */
  async attach(pod: Pod, network: PodNetwork): Promise<void> {
    const path = await askShim();
    const { annotations = {}, namespace = "" } = pod.metadata;
    const selections = parseNetworks(annotations[NETWORKS_ANNOTATION] ?? "", namespace);
    if (selections.length === 0) return;
    const attachments: Attachment[] = [];
    try {
      for (const selection of selections) attachments.push(await this.#attachOne(pod, network, selection, path));
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

  async #attachOne(
    pod: Pod,
    network: PodNetwork,
    selection: NetworkSelection,
    path: readonly string[],
  ): Promise<Attachment> {
    const { namespace, name } = selection;
    const found = await this.#objects
      .getNamespacedCustomObject({ ...NADS, namespace, name })
      .catch((error: unknown) => {
        if (!(error instanceof ApiException && error.code === 404)) throw error;
        throw new Error(`cannot find a network-attachment-definition (${name}) in namespace (${namespace})`);
      });
    const delegate = makeDelegate(selection, (found as NetworkAttachmentDefinition).spec?.config ?? "");
    const env = environment(pod, network, delegate);
    return { delegate, env, path, result: await cniAdd(delegate, env, undefined, path) };
  }

  async #detachAll(attachments: readonly Attachment[]): Promise<void> {
    for (const { delegate, env, result, path } of attachments.toReversed()) {
      await cniDelete(delegate, env, result, undefined, path).catch((error: Error) => {
        this.#log(`multus: DEL of ${delegate.network}, ${delegate.interface}: ${error.message}`);
      });
    }
  }

  async #writeStatus(pod: Pod, network: PodNetwork, attachments: readonly Attachment[]): Promise<void> {
    const own = { name: "process-node", interface: "eth0", ips: [network.address], default: true, dns: {} };
    const entries = [own, ...attachments.flatMap(({ delegate, result }) => networkStatus(delegate.network, result))];
    const annotations = { [NETWORK_STATUS_ANNOTATION]: JSON.stringify(entries, undefined, 4) };
    const { name = "", namespace = "", uid } = pod.metadata;
    const body = { metadata: { uid, annotations } };
    const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
    await this.#core.patchNamespacedPodStatus({ name, namespace, body }, merge);
  }
}

function kubeConfig({ apiServer, caCertificate, multusCredentials }: MultusAccess): KubeConfig {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: "cluster", server: apiServer, caData: base64(caCertificate), skipTLSVerify: false },
    { name: "multus", certData: base64(multusCredentials.cert), keyData: base64(multusCredentials.key) },
  );
  return config;
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

/** What a runtime gets from multus' shim on this node: where the configuration of a thick multus is in place. */
const CONFIG = "/etc/cni/net.d/00-multus.conf";
const SOCKET = "/run/multus/multus.sock";
/** Where this runtime looks for plugins. */
const RUNTIME_DIRECTORIES = [CNI_BIN_DIRECTORY, "/var/lib/cni/bin"];

/** The directories in which multus finds plugins. Throws what a runtime says when multus attaches nothing. */
async function askShim(): Promise<readonly string[]> {
  if (!existsSync(CONFIG)) return [CNI_BIN_DIRECTORY];
  if (!RUNTIME_DIRECTORIES.some((directory) => existsSync(join(directory, "multus-shim")))) {
    throw new Error(`failed to find plugin "multus-shim" in path [${RUNTIME_DIRECTORIES.join(" ")}]`);
  }
  try {
    return (JSON.parse(await post()) as { path: string[] }).path;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): ${said}`);
  }
}

function post(): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: SOCKET, path: "/cni", method: "POST", agent: false }, async (answer) => {
      const text = (await answer.toArray()).join("");
      if (answer.statusCode === 200) resolve(text);
      else reject(new Error(`CNI request failed with status ${answer.statusCode}: '${text}'`));
    });
    call.on("error", (error) => reject(new Error(`failed to send CNI request: ${error.message}`)));
    call.end();
  });
}
