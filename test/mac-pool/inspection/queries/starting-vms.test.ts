import { expect, it } from "vitest";
import type { NetworkView } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { InspectionFixture } from "../inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, reportOf } from "../networks.ts";

const ALL = { namespace: undefined };
const PHASES = ["Pending", "Scheduling", "Scheduled", "WaitingForSync", "Running", "Unknown", "Succeeded"];

const guest = (name: string, phase: string) => guestOf("b", name, ["a/net"], "node-a", phase);

it("counts a VM on a network as running once it runs", async () => {
  await using fixture = await InspectionFixture.start({
    nodeMacs: [reportOf("node-a", [bridgeOf("br1")])],
    nads: [nadOf("a", "net")],
    instances: PHASES.map((phase) => guest(phase.toLowerCase(), phase)),
  });
  const { networks } = fixture.inspector;
  const ask = (namespace?: string): Promise<NetworkView> => networks.network("a", "net", { namespace });
  expect(await ask()).toMatchObject({ running: 2, starting: 4, pending: 0, usedBy: ["b"] });
  const { items } = await networks.bridges({ limit: 1 }, ALL);
  expect(items).toMatchObject([{ name: "br1", running: 2 }]);
  await fixture.objects.tell("MODIFIED", "virtualmachineinstances", guest("scheduled", "Running"));
  expect(await ask()).toMatchObject({ running: 3, starting: 3 });
  expect(await ask("c")).toMatchObject({ starting: 0, usedBy: [] });
});
