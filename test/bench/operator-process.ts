/** The operator as the image has it, in a process of its own with nothing but the rights of the release. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { entryPoint, OPERATOR_NODE_FLAGS } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../../src/api/names.ts";
import { issueToken, mountedAccount } from "../mac-pool/account.ts";
import type { OperatorBed } from "../operator/support/operator-bed.ts";
import { ProductProcess } from "../support/product-process.ts";

/** `tree`: the image's root as a folder. A process that was killed is followed by one of the same name. */
export async function startOperator(
  { controlPlane, admin }: OperatorBed,
  tree: string,
  ports: { readonly health: number; readonly metrics: number },
): Promise<ProductProcess> {
  const directory = join(controlPlane.directory, "operator-account");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const token = await issueToken(admin, { name: OPERATOR_NAME, namespace: DEFAULT_NAMESPACE });
  const { argv, env } = await mountedAccount(directory, token, DEFAULT_NAMESPACE, controlPlane);
  return await ProductProcess.start({
    product: "operator",
    program: join(tree, entryPoint("operator")),
    prefix: argv,
    nodeOptions: OPERATOR_NODE_FLAGS,
    env: {
      ...env,
      POD_NAME: "operator-1",
      OPERATOR_NAMESPACE: DEFAULT_NAMESPACE,
      HEALTH_PORT: String(ports.health),
      METRICS_PORT: String(ports.metrics),
    },
  });
}
