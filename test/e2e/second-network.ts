/** A second interface for every pod of a node, by the plugins that the product installs there. */
import type { InstalledProduct } from "./installed-product.ts";
import { CNI_CONFIG_DIRECTORY } from "./node-config.ts";

export const SECOND_BRIDGE = "br1";
const LIST = "20-second.conflist";
const NETWORK = {
  cniVersion: "1.1.0",
  name: "second",
  plugins: [{ type: "cnv-bridge", bridge: SECOND_BRIDGE, macspoofchk: true }],
};

export async function addSecondNetwork(
  product: InstalledProduct,
  node: string,
  configDirectory: string = CNI_CONFIG_DIRECTORY,
): Promise<void> {
  await product.cluster.mustExec(node, ["sh", "-c", `cat > ${configDirectory}/${LIST}`], JSON.stringify(NETWORK));
  await restartRuntime(product, node);
}

export async function removeSecondNetwork(
  product: InstalledProduct,
  node: string,
  configDirectory: string = CNI_CONFIG_DIRECTORY,
): Promise<void> {
  await product.cluster.mustExec(node, ["rm", `${configDirectory}/${LIST}`]);
  await restartRuntime(product, node);
}

/** It reads its lists and its own configuration then. */
export async function restartRuntime({ cluster }: InstalledProduct, node: string): Promise<void> {
  await cluster.restartService(node, "containerd");
  await cluster.nodeReady(node);
}
