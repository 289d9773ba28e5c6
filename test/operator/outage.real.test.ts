import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { InstalledOperator } from "./support/installed-operator.ts";

const AWAY_MS = 20_000;
/** From when the API server is back. */
const REPAIRED_WITHIN = { timeout: 5_000, interval: 25 };
const ROLE = { name: "bridge-marker-cr" };

describe("an operator whose API server was away for longer than its lease lasts", () => {
  let controlPlane: ControlPlane;
  let cluster: InstalledOperator;

  beforeAll(async () => {
    controlPlane = await startControlPlane();
    cluster = await InstalledOperator.install({ controlPlane });
    cluster.start();
    await cluster.applyConfig({ linuxBridge: {} });
    await cluster.rollOutUntilAvailable();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  const rules = async () => (await cluster.find(RESOURCES.clusterRoles, ROLE))?.rules;

  it("repairs within seconds what is edited when the API server is back", { timeout: 120_000 }, async () => {
    const before = await rules();
    await controlPlane.killApiServer();
    await sleep(AWAY_MS);
    await controlPlane.restartApiServer();
    await cluster.admin.patch(RESOURCES.clusterRoles, ROLE, { type: "merge", body: { rules: [] } });
    await expect.poll(rules, REPAIRED_WITHIN).toEqual(before);
  });
});
