/**
 * Part of multus: the product's own process beside the daemon. As an init container that is always restarted it ends when the
 * daemon has ended. Pure.
 */

import { entryPoint, IDLE_NODE_FLAGS, IMAGE_NODE, IMAGE_ROOT } from "../../api/image.ts";
import { MULTUS_HEALTH_PORT } from "../../api/node-ports.ts";
import { env, HEALTH_HOST, LOOPBACK, promptProbes } from "../manifests/workload.ts";
import { CNI_PATH } from "./cni-directories.ts";
import type { RenderInput } from "./component.ts";
import { ANY_HOST_FILES, type Container } from "./external-component.ts";

/** The node's CNI configuration, where the pod has it. */
export const MOUNTED_CNI_CONFIG_DIR = "/host/etc/cni/net.d";

/** libcni's, of the runtime's calls. */
export const RESULT_DIR = "/var/lib/cni/results";

export interface SidecarOptions {
  readonly cniPath: readonly string[];
  readonly socket: string;
  /** Of the CNI configuration, /run, /var/lib/cni/results. */
  readonly volumes: { readonly config: string; readonly run: string; readonly results: string };
  readonly binMounts: NonNullable<Container["volumeMounts"]>;
}

export function multusSidecar({ spec, settings }: RenderInput, options: SidecarOptions): Container {
  const { cniPath, socket, volumes, binMounts } = options;
  return {
    name: "multus-sidecar",
    image: settings.images.linuxBridge,
    imagePullPolicy: spec.imagePullPolicy,
    restartPolicy: "Always",
    command: [IMAGE_NODE, ...IDLE_NODE_FLAGS, `${IMAGE_ROOT}/${entryPoint("multus-sidecar")}`],
    env: env({
      MULTUS_SOCKET: socket,
      CNI_CONFIG_DIR: MOUNTED_CNI_CONFIG_DIR,
      [CNI_PATH]: cniPath.join(":"),
      CNI_RESULT_DIR: RESULT_DIR,
      CRIO_SOCKET: "/host/run/crio/crio.sock",
      HEALTH_PORT: MULTUS_HEALTH_PORT,
      [HEALTH_HOST]: LOOPBACK,
    }),
    ports: [{ name: "health", containerPort: MULTUS_HEALTH_PORT, protocol: "TCP" }],
    resources: { requests: { cpu: "10m", memory: "64Mi" } },
    securityContext: ANY_HOST_FILES,
    ...promptProbes(MULTUS_HEALTH_PORT, LOOPBACK),
    volumeMounts: [
      { name: volumes.config, mountPath: MOUNTED_CNI_CONFIG_DIR },
      // The daemon makes the directory of its socket anew when it starts, so that a mount of that would be another one.
      { name: volumes.run, mountPath: "/host/run" },
      { name: volumes.results, mountPath: RESULT_DIR },
      ...binMounts,
    ],
  };
}
