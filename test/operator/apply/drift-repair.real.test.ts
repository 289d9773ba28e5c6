import { expect, it, vi } from "vitest";
import type { Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { DriftRepair } from "../../../src/operator/apply/drift-repair.ts";
import { planned } from "../../../src/operator/apply/plan.ts";
import { adminClient } from "../../kube/support/real-api-server.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";

const REF = { name: "web", namespace: "default" };

function wanted(): Deployment {
  const labels = { app: "web" };
  const spec = { containers: [{ name: "web", image: "localhost/web:dev" }] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: REF,
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

it("asks once about what the API server would not take", async () => {
  await using controlPlane = await borrowControlPlane();
  await using client = await adminClient(controlPlane);
  const live = (await client.create(RESOURCES.deployments, {
    ...wanted(),
    metadata: { ...REF, annotations: { note: "theirs" } },
    spec: { ...wanted().spec, minReadySeconds: 5 },
  } as Deployment)) as Deployment;
  const update = vi.spyOn(client, "update");
  const { spec } = wanted();
  const invalid = {
    ...wanted(),
    spec: { ...spec, selector: { matchLabels: { app: "web", other: "yes" } } },
  };
  const { signal } = new AbortController();
  expect(await new DriftRepair(client).driftedField(planned(invalid), live, signal)).toBe(
    "spec.selector.matchLabels.other",
  );
  expect(update).toHaveBeenCalledTimes(1);
});

it("finds what others added although the object has changed since it was looked at", async () => {
  await using controlPlane = await borrowControlPlane();
  await using client = await adminClient(controlPlane);
  await client.create(RESOURCES.deployments, wanted());
  const patch = (body: object): Promise<Deployment> =>
    client.patch(RESOURCES.deployments, REF, { type: "merge", body }) as Promise<Deployment>;
  const seen = await patch({ spec: { template: { spec: { runtimeClassName: "theirs" } } } });
  await patch({ metadata: { annotations: { note: "changed since" } } });
  const { signal } = new AbortController();
  expect(await new DriftRepair(client).driftedField(planned(wanted()), seen, signal)).toBe(
    "spec.template.spec.runtimeClassName",
  );
});
