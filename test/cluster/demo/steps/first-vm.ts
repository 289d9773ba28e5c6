import { BRIDGE_RESOURCE_PREFIX } from "../../../../src/api/names.ts";
import { assertThat } from "../assert.ts";
import { type DemoCluster, kubectlApply } from "../demo-cluster.ts";
import { claimInPhase, type Guest, macOf, networkStatusOf, runningGuest } from "../guest.ts";
import { attachmentDefinition, NETWORK, NODE_A, virtualMachine } from "../objects.ts";
import type { Step } from "../scenario.ts";

const BR1 = `${BRIDGE_RESOURCE_PREFIX}br1`;

export const firstVm: Step<DemoCluster> = {
  name: "vm",
  limitMs: 60_000,
  async run(demo, values, signal) {
    await kubectlApply(demo, attachmentDefinition());
    demo.note("VM web with one NIC on br1");
    const startedMs = performance.now();
    await kubectlApply(demo, virtualMachine("web"));
    values.mac = await macOf(demo, "web");
    const guest = await runningGuest(demo, "web", signal);
    values.runningMs = Math.round(performance.now() - startedMs);
    await claimInPhase(demo, guest.mac, "Allocated", signal);
    values.claim = guest.claim;
    values.phase = "Allocated";

    values.requests = requestOf(guest);
    assertThat(values.requests === "1", `the launcher pod asks for ${values.requests ?? "no"} ${BR1}`);
    values.node = guest.node;
    assertThat(guest.node === NODE_A, `the launcher pod runs on ${guest.node}, which has no br1`);
    Object.assign(values, { link: guest.link, linkMac: guest.linkMac, hostLink: guest.hostLink, bridge: guest.bridge });
    assertThat(guest.bridge === "br1", `${guest.hostLink} is a port of ${guest.bridge || "nothing"}, not of br1`);
    const status = networkStatusOf(guest);
    values.networkStatus = status;
    assertThat(status?.mac === guest.mac, `network-status says ${JSON.stringify(status)}`);
    return {
      text: `VM web, NIC ${NETWORK} on br1 → ${guest.mac}`,
      details: [
        `claim ${guest.claim}, Bound`,
        `launcher pod got ${BR1}: ${values.requests}, was scheduled to ${guest.node}`,
        `kernel: ${guest.link} ${guest.linkMac} ↔ ${guest.hostLink} on ${guest.bridge}`,
        `network-status: ${status.name} ${status.interface} ${status.mac}`,
      ],
    };
  },
};

/** How many of br1 the launcher's containers request together. */
export function requestOf(guest: Guest): string | undefined {
  const amounts = (guest.pod.spec?.containers ?? []).flatMap((container) => {
    const amount = container.resources?.requests?.[BR1];
    return amount === undefined ? [] : [Number(amount)];
  });
  return amounts.length === 0 ? undefined : String(amounts.reduce((sum, amount) => sum + amount, 0));
}
