/** A borrowed control plane and a client with an administrator's rights: for all tests of a file that imports this. */
import { afterAll, beforeAll } from "vitest";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { adminClient } from "../kube/support/real-api-server.ts";
import { borrowControlPlane } from "./borrowed-control-plane.ts";

export let controlPlane: ControlPlaneAccess;
export let client: KubeClient;

beforeAll(async () => {
  controlPlane = await borrowControlPlane();
  client = await adminClient(controlPlane);
});

afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await controlPlane?.[Symbol.asyncDispose]();
});
