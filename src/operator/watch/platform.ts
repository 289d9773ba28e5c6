/** What only the platform itself says. It is watched; until the watch has begun, the API server is asked. */

import { OPENSHIFT_NETWORKS } from "../../api/kinds.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../../kube/client/resource.ts";
import type { Facts } from "./facts.ts";

export type PlatformFacts = Pick<Facts, "openShift" | "multiNetworkDisabled">;

/** OpenShift's configuration of the cluster's network. */
export interface OpenShiftNetwork extends KubeObject {
  readonly spec?: { readonly disableMultiNetwork?: boolean };
}

export const NETWORKS: Resource<OpenShiftNetwork> = OPENSHIFT_NETWORKS;
export const OPENSHIFT_NETWORK_NAME = "cluster";
export const NETWORKS_DEFINITION = `${NETWORKS.plural}.${NETWORKS.group}`;

const PATH = `/apis/${apiVersionOf(NETWORKS)}/${NETWORKS.plural}/${OPENSHIFT_NETWORK_NAME}`;

/** `network`: undefined where there is none. */
export function platformFacts(network: OpenShiftNetwork | undefined): PlatformFacts {
  return { openShift: network !== undefined, multiNetworkDisabled: network?.spec?.disableMultiNetwork === true };
}

/** Throws if the API server gives no usable answer. */
export async function askPlatform(client: KubeClient, signal: AbortSignal): Promise<PlatformFacts> {
  const answer = await client.raw("GET", PATH, { signal });
  if (answer.status === 404) return platformFacts(undefined);
  if (answer.status !== 200) {
    throw new ApiError({
      status: answer.status,
      reason: "Unknown",
      message: `OpenShift's network configuration could not be read: the API server answered ${answer.status}`,
      request: `GET ${PATH}`,
    });
  }
  return platformFacts(answer.body as OpenShiftNetwork);
}
