import { expect, it } from "vitest";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { FAILED_CREATE } from "../../../src/operator/status/event-query.ts";
import { WarningEvents } from "../../../src/operator/status/warning-events.ts";
import { adminClient } from "../../kube/support/real-api-server.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";

it("tells what happened to this object, not to a former one of its name", async () => {
  await using controlPlane = await borrowControlPlane();
  await using client = await adminClient(controlPlane);
  const about = { kind: "DaemonSet", namespace: "default", name: "marker" };
  const record = async (uid: string, note: string): Promise<void> => {
    await client.create(RESOURCES.events, {
      metadata: { generateName: "marker-", namespace: "default" },
      ...{ type: "Warning", reason: "FailedCreate", action: "Create", note },
      ...{ eventTime: "2026-01-01T00:00:00.000000Z", reportingController: "test", reportingInstance: "test" },
      regarding: { apiVersion: "apps/v1", uid, ...about },
    });
  };
  const events = new WarningEvents({ client, clock: systemClock, log: silentLog, maxAgeMs: 60_000 });
  const { signal } = new AbortController();
  const ask = (uid: string) => events.latest({ ...about, uid, reasons: FAILED_CREATE }, signal);
  await record("former", "exceeded quota");
  expect(await ask("present")).toBeUndefined();
  expect(await ask("former")).toEqual({ reason: "FailedCreate", message: "exceeded quota" });
});
