import { ApiException, CustomObjectsApi, KubeConfig } from "@kubernetes/client-node";
import { eventually } from "../../support/eventually.ts";
import { createAccess } from "./access.ts";
import { kubevirtCrds } from "./crds.ts";
import { runVirtController } from "./virt-controller.ts";

const ESTABLISHED_LIMIT_MS = 20_000;

const CRDS = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

interface Crd {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/**
 * KubeVirt as far as the product and its users see it, until disposed: kinds and rights stay in the cluster, the controller stops.
 * `kubeconfig` is the path of an administrator's. Returns once the kinds are served.
 */
export async function installKubevirt(kubeconfig: string): Promise<AsyncDisposable> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(CustomObjectsApi);
  await Promise.all((kubevirtCrds() as Crd[]).map((crd) => serve(api, crd)));
  await createAccess(config);
  const stop = new AbortController();
  const ended = runVirtController(config, stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

/** A definition that is there already is left as it is. */
async function serve(api: CustomObjectsApi, crd: Crd): Promise<void> {
  const { name } = crd.metadata;
  await api.createClusterCustomObject({ ...CRDS, body: crd }).catch((error: unknown) => {
    if (!(error instanceof ApiException && error.code === 409)) throw error;
  });
  const isEstablished = async (): Promise<boolean | undefined> => {
    const { status } = (await api.getClusterCustomObject({ ...CRDS, name })) as Crd;
    return status?.conditions?.some(({ type, status }) => type === "Established" && status === "True");
  };
  await eventually(`the API server to serve ${name}`, isEstablished, { limitMs: ESTABLISHED_LIMIT_MS });
}
