import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { kubevirtCrds } from "./crds.ts";
import { runVirtController } from "./virt-controller.ts";

const FIELD_MANAGER = "kubevirt-stand-in";
const ESTABLISHED_LIMIT_MS = 20_000;

/** KubeVirt as far as the product sees it, until disposed: the kinds stay in the cluster, the controller stops. */
export interface Kubevirt extends AsyncDisposable {
  /** Settles when the controller ended; rejects when it failed, which nobody else would notice. */
  readonly ended: Promise<void>;
}

/** `client` needs an administrator's rights. Returns once the kinds are served. */
export async function installKubevirt(client: KubeClient): Promise<Kubevirt> {
  const crds = kubevirtCrds() as CustomResourceDefinition[];
  await Promise.all(crds.map((crd) => client.apply(RESOURCES.crds, crd, { fieldManager: FIELD_MANAGER, force: true })));
  await Promise.all(crds.map((crd) => established(client, crd.metadata.name ?? "")));
  const stop = new AbortController();
  const ended = runVirtController(client, stop.signal);
  ended.catch(() => {});
  return {
    ended,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended.catch(() => {});
    },
  };
}

async function established(client: KubeClient, name: string): Promise<void> {
  const limit = AbortSignal.timeout(ESTABLISHED_LIMIT_MS);
  for await (const { object } of client.watch(RESOURCES.crds, {
    fieldSelector: `metadata.name=${name}`,
    signal: limit,
  })) {
    const conditions = object.status?.conditions ?? [];
    if (conditions.some(({ type, status }) => type === "Established" && status === "True")) return;
  }
  throw new Error(`the API server does not serve ${name} after ${ESTABLISHED_LIMIT_MS / 1000} s`);
}
