import { IMAGE_NODE } from "../../../../src/api/image.ts";
import { type PingResult, parsePingResult } from "../../kubevirt/guest/ping-result.ts";
import { assertThat } from "../assert.ts";
import { type DemoCluster, getIfThere, inPod, kubectlApply, VIRTUAL_MACHINES } from "../demo-cluster.ts";
import { type Guest, macOf, runningGuest } from "../guest.ts";
import { NAMESPACE, NODE_A, virtualMachine } from "../objects.ts";
import type { Step } from "../scenario.ts";

const ADDRESS = { web: "192.0.2.1", "web-2": "192.0.2.2" } as const;
const PINGS = 3;
const PING_PROGRAM = "/app/test/kubevirt/guest/ping.ts";

export const conflict: Step<DemoCluster> = {
  name: "conflict",
  limitMs: 60_000,
  async run(demo, values, signal) {
    const taken = await macOf(demo, "web");
    values.refusal = await refusalOf(demo, taken);
    demo.note("VM web-2 without a MAC");
    await kubectlApply(demo, virtualMachine("web-2"));
    const second = await runningGuest(demo, "web-2", signal);
    values.mac = second.mac;
    assertThat(second.mac !== taken, `web and web-2 both have ${taken}`);
    assertThat(second.node === NODE_A && second.bridge === "br1", `web-2 is on ${second.node}, ${second.bridge}`);

    demo.note("web -> web-2 over br1");
    const first = await runningGuest(demo, "web", signal);
    const ping = await pingBetween(demo, first, second);
    Object.assign(values, { sent: ping.sent, received: ping.received, roundTripMs: ping.fastestMs });
    values.neighbour = await neighbourOf(demo, first);
    assertThat(ping.received === PINGS, `${ping.received} of ${PINGS} pings came back`);
    assertThat(values.neighbour === second.mac, `web knows web-2 as ${values.neighbour}, its MAC is ${second.mac}`);
    return {
      text: `VM web-2 with the same MAC: refused`,
      details: [
        `${values.refusal}`,
        `without a MAC: web-2 → ${second.mac}`,
        `web → web-2 over br1: ${ping.received} of ${ping.sent} pings, ${ping.fastestMs?.toFixed(2)} ms; ARP: ${ADDRESS["web-2"]} is ${values.neighbour}`,
      ],
    };
  },
};

/** What the second VM's owner is told. */
async function refusalOf(demo: DemoCluster, mac: string): Promise<string> {
  const text = await kubectlApply(demo, virtualMachine("web-2", { macAddress: mac })).then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
  assertThat(text !== undefined, `web-2 was admitted with web's MAC ${mac}`);
  assertThat(text.includes(mac) && text.includes("default/web"), `the refusal names neither MAC nor owner: ${text}`);
  const stored = await getIfThere(demo, VIRTUAL_MACHINES, { name: "web-2", namespace: NAMESPACE });
  assertThat(stored === undefined, "web-2 was refused and exists all the same");
  return text.replace(/^.*?denied the request: /s, "").trim();
}

/** Gives both guests an address on their link and lets the first ping the second. */
async function pingBetween(demo: DemoCluster, first: Guest, second: Guest): Promise<PingResult> {
  for (const guest of [first, second]) {
    const address = `${ADDRESS[guest.name as keyof typeof ADDRESS]}/24`;
    await inPod(demo, NAMESPACE, guest.podName, ["ip", "address", "replace", address, "dev", guest.link]);
  }
  const ping = [IMAGE_NODE, PING_PROGRAM, ADDRESS["web-2"], String(PINGS)];
  return parsePingResult(await inPod(demo, NAMESPACE, first.podName, ping));
}

/** The MAC that web's kernel learnt for web-2's address. */
async function neighbourOf(demo: DemoCluster, first: Guest): Promise<string | undefined> {
  const text = await inPod(demo, NAMESPACE, first.podName, ["ip", "-json", "neighbour", "show", ADDRESS["web-2"]]);
  const [entry] = JSON.parse(text) as { lladdr?: string }[];
  return entry?.lladdr;
}
