import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { formatMac, type Mac } from "../../../src/api/mac.ts";
import { NETWORK_STATUS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import type { EventRecorder, Regarding } from "../../../src/kube/events/event-recorder.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { CollisionController } from "../../../src/mac-pool/controllers/collision-controller.ts";
import { eventually } from "../../support/eventually.ts";
import { heldBytes } from "../../support/held-bytes.ts";
import { FIRST, InspectionFixture, instanceOf, vmOf } from "../inspection/inspection-fixture.ts";

/** Their names would be 2.4 MB, if each address kept those of its objects. */
const INSTANCES = 400;
const ADDRESSES = 25;

it("keeps little of collisions, however many objects with long names have the same addresses", async () => {
  const macs = Array.from({ length: ADDRESSES }, (_, index) => (FIRST + index) as Mac);
  const instances = Array.from({ length: INSTANCES }, (_, index) =>
    instanceOf(vmOf("default", `vm-${index}-${"x".repeat(240)}`, macs), "node-a"),
  );
  await using fixture = await InspectionFixture.start({ instances });
  const collided = new Set<string>();
  const stop = new AbortController();
  const before = heldBytes();
  const running = new CollisionController({
    caches: fixture.caches,
    events: { event: () => {} } as unknown as EventRecorder,
    clock: systemClock,
    log: silentLog,
    metrics: new Registry(),
    onCollision: (mac, refs) => refs === INSTANCES && collided.add(mac),
  }).run(stop.signal);
  await eventually("every collision is found", () => collided.size === ADDRESSES);
  expect((heldBytes() - before) / 1024 / 1024).toBeLessThan(1);
  stop.abort();
  await running;
});

it("raises an alarm about a VM that runs beside one that opted out, and none about those that opted out", async () => {
  const [one, other] = [FIRST, (FIRST + 1) as Mac];
  const vmis = [
    vmOf("default", "web", [one]),
    vmOf("out", "a", [one]),
    vmOf("out", "b", [other]),
    vmOf("out", "c", [other]),
  ];
  await using fixture = await InspectionFixture.start({
    namespaces: { default: {}, out: { [VM_WEBHOOK]: "ignore" } },
    instances: vmis.map((vm) => instanceOf(vm, "node-a")),
  });
  const alarms: [string, number][] = [];
  const events: string[] = [];
  const stop = new AbortController();
  const running = new CollisionController({
    caches: fixture.caches,
    events: { event: ({ metadata }: Regarding) => events.push(metadata.name ?? "") } as unknown as EventRecorder,
    clock: systemClock,
    log: silentLog,
    metrics: new Registry(),
    onCollision: (mac, refs) => refs > 0 && alarms.push([mac, refs]),
  }).run(stop.signal);
  await eventually("both VMIs have their event", () => events.length === 2);
  expect([alarms, events.sort()]).toEqual([[[formatMac(one), 2]], ["a", "web"]]);
  stop.abort();
  await running;
});

it("raises no alarm about a VM by what a pod says of itself, and one about pods of one namespace", async () => {
  const [one, other] = [FIRST, FIRST + 1].map((mac) => formatMac(mac as Mac));
  const status = JSON.stringify([one, other].map((mac) => ({ name: "blue", interface: "net1", mac })));
  const podOf = (name: string, annotation: string): KubeObject => ({
    metadata: { name, namespace: "pods", uid: name, annotations: { [NETWORK_STATUS_ANNOTATION]: annotation } },
    spec: { nodeName: "node-b" },
    status: { phase: "Running" },
  });
  const last = JSON.stringify([{ name: "blue", interface: "net1", mac: other }]);
  await using fixture = await InspectionFixture.start({
    namespaces: { default: {}, pods: { [POD_WEBHOOK]: "allocate" } },
    instances: [instanceOf(vmOf("default", "web", [FIRST]), "node-a")],
    pods: [podOf("forged", status), podOf("twin", last)],
  });
  const alarms: [string, number][] = [];
  const events: string[] = [];
  const stop = new AbortController();
  const running = new CollisionController({
    caches: fixture.caches,
    events: { event: ({ metadata }: Regarding) => events.push(metadata.name ?? "") } as unknown as EventRecorder,
    clock: systemClock,
    log: silentLog,
    metrics: new Registry(),
    onCollision: (mac, refs) => refs > 0 && alarms.push([mac, refs]),
  }).run(stop.signal);
  await eventually("both pods have their event", () => events.length === 2);
  expect([alarms, events.sort()]).toEqual([[[other, 2]], ["forged", "twin"]]);
  stop.abort();
  await running;
});
