import { expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { adminClient, installWidgets, WIDGETS } from "../kube/support/real-api-server.ts";
import { borrowControlPlane } from "./borrowed-control-plane.ts";
import { ControlPlaneBroker } from "./control-plane-broker.ts";

it("a borrowed control plane comes back without what was made and with what was changed or deleted", async () => {
  await using broker = await ControlPlaneBroker.listen();
  const first = await borrowControlPlane(broker.path);
  await using client = await adminClient(first);
  await installWidgets(client);
  await client.create(WIDGETS, { metadata: { name: "left", namespace: "default" } });
  const labels = { metadata: { labels: { left: "behind" } } };
  await client.patch(RESOURCES.namespaces, { name: "default" }, { type: "merge", body: labels });
  await client.delete(RESOURCES.clusterRoles, { name: "view" });
  await first[Symbol.asyncDispose]();

  await using second = await borrowControlPlane(broker.path);
  expect(second.url).toBe(first.url);
  await using next = await adminClient(second);
  expect((await next.raw("GET", "/apis/test.example.com")).status).toBe(404);
  expect((await next.get(RESOURCES.namespaces, { name: "default" })).metadata.labels).not.toHaveProperty("left");
  expect((await next.get(RESOURCES.clusterRoles, { name: "view" })).metadata.name).toBe("view");
  await installWidgets(next);
  expect((await next.list(WIDGETS)).items).toEqual([]);
});
