import { IMAGE_NODE } from "../../../../src/api/image.ts";
import { type PingResult, parsePingResult } from "../../kubevirt/guest/ping-result.ts";
import { type Guest, macOf, runningGuest } from "../guest.ts";
import { must } from "../must.ts";
import { NAMESPACE, NODE_A, virtualMachine } from "../objects.ts";
import { getIfThere, inPod, kubectlApply, type Stage, VIRTUAL_MACHINES } from "../stage.ts";
import type { Step } from "../story.ts";

const ADDRESS = { web: "192.0.2.1", "web-2": "192.0.2.2" } as const;
const PINGS = 3;
const PING_PROGRAM = "/app/test/kubevirt/guest/ping.ts";

export const conflict: Step<Stage> = {
  name: "conflict",
  limitMs: 60_000,
  async run(stage, values, signal) {
    const taken = await macOf(stage, "web");
    values.refusal = await refusalOf(stage, taken);
    stage.note("VM web-2 without a MAC");
    await kubectlApply(stage, virtualMachine("web-2"));
    const second = await runningGuest(stage, "web-2", signal);
    values.mac = second.mac;
    must(second.mac !== taken, `web and web-2 both have ${taken}`);
    must(second.node === NODE_A && second.bridge === "br1", `web-2 is on ${second.node}, ${second.bridge}`);

    stage.note("web -> web-2 over br1");
    const first = await runningGuest(stage, "web", signal);
    const ping = await pingBetween(stage, first, second);
    Object.assign(values, { sent: ping.sent, received: ping.received, roundTripMs: ping.fastestMs });
    values.neighbour = await neighbourOf(stage, first);
    must(ping.received === PINGS, `${ping.received} of ${PINGS} pings came back`);
    must(values.neighbour === second.mac, `web knows web-2 as ${values.neighbour}, its MAC is ${second.mac}`);
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
async function refusalOf(stage: Stage, mac: string): Promise<string> {
  const text = await kubectlApply(stage, virtualMachine("web-2", { macAddress: mac })).then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
  must(text !== undefined, `web-2 was admitted with web's MAC ${mac}`);
  must(text.includes(mac) && text.includes("default/web"), `the refusal names neither MAC nor owner: ${text}`);
  const stored = await getIfThere(stage, VIRTUAL_MACHINES, { name: "web-2", namespace: NAMESPACE });
  must(stored === undefined, "web-2 was refused and exists all the same");
  return text.replace(/^.*?denied the request: /s, "").trim();
}

/** Gives both guests an address on their link and lets the first ping the second. */
async function pingBetween(stage: Stage, first: Guest, second: Guest): Promise<PingResult> {
  for (const guest of [first, second]) {
    const address = `${ADDRESS[guest.name as keyof typeof ADDRESS]}/24`;
    await inPod(stage, NAMESPACE, guest.podName, ["ip", "address", "replace", address, "dev", guest.link]);
  }
  const ping = [IMAGE_NODE, PING_PROGRAM, ADDRESS["web-2"], String(PINGS)];
  return parsePingResult(await inPod(stage, NAMESPACE, first.podName, ping));
}

/** The MAC that web's kernel learnt for web-2's address. */
async function neighbourOf(stage: Stage, first: Guest): Promise<string | undefined> {
  const text = await inPod(stage, NAMESPACE, first.podName, ["ip", "-json", "neighbour", "show", ADDRESS["web-2"]]);
  const [entry] = JSON.parse(text) as { lladdr?: string }[];
  return entry?.lladdr;
}
