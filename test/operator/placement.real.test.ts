import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { InstalledOperator, NAMESPACE, WITHIN } from "./support/installed-operator.ts";

const SPEC = { linuxBridge: {}, kubeMacPool: {} };
const preferred = [{ weight: 1, preference: { matchExpressions: [{ key: "zone", operator: "Exists" }] } }];
const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } };

describe("where a placement has content and then none", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    cluster.start();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  /** The affinity of every workload. */
  async function affinities(): Promise<unknown[]> {
    const { admin } = cluster;
    const deployments = (await admin.list(RESOURCES.deployments, { namespace: NAMESPACE })).items;
    const ours = deployments.filter(({ metadata }) => metadata.ownerReferences !== undefined);
    const daemonSets = (await admin.list(RESOURCES.daemonSets, { namespace: NAMESPACE })).items;
    return [...ours, ...daemonSets].map(({ spec }) => spec?.template.spec?.affinity);
  }

  it("leaves an empty affinity in every workload, because other software reads it without a look", async () => {
    for (const half of [{ affinity }, {}, { affinity }, { affinity: {} }]) {
      const placementConfiguration = { infra: half, workloads: half };
      expect(await cluster.applyConfig({ ...SPEC, placementConfiguration })).toMatchObject({ code: 0 });
      await cluster.rollOutUntilAvailable();
      await expect.poll(affinities, WITHIN).toEqual(Array(5).fill(half.affinity ?? {}));
    }
  });
});
