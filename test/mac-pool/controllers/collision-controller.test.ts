import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import type { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
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
