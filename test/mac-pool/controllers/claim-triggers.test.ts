import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { claimName, type Mac, parseMac } from "../../../src/api/mac.ts";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../../src/api/names.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { Caches } from "../../../src/mac-pool/cluster/caches.ts";
import { ClaimTriggers } from "../../../src/mac-pool/controllers/claim-triggers.ts";
import { ListedObjects } from "../inspection/queries/listed-objects.ts";

const [ASKED, ATTACHED] = ["02:00:00:00:00:01", "02:00:00:00:00:02"] as const;
const nameOf = (text: string): string => claimName(parseMac(text) as Mac);

it("names the claim of an address that a pod asks for no more, once multus has taken it back or the pod is gone, and of one that opts out", async () => {
  const stop = new AbortController();
  const objects = new ListedObjects({});
  const options = { log: silentLog, metrics: new Registry(), excludedNamespaces: [] };
  const caches = new Caches({ client: objects.asKubeClient(), ...options });
  const running = caches.run(stop.signal).catch(() => {});
  await caches.whenSynced(stop.signal);
  const named: string[] = [];
  const stops = new ClaimTriggers(
    caches,
    (claim) => named.push(claim),
    () => {},
  ).start();
  const tell = async (type: "ADDED" | "MODIFIED" | "DELETED", asked: string[], status: string[], more = {}) => {
    named.length = 0;
    const text = (macs: string[]): string => JSON.stringify(macs.map((mac) => ({ name: "n", mac })));
    const annotations = { [NETWORKS_ANNOTATION]: text(asked), [NETWORK_STATUS_ANNOTATION]: text(status) };
    await objects.tell(type, "pods", { metadata: { name: "p", namespace: "default", uid: "u", annotations, ...more } });
    return [...named];
  };
  expect(await tell("ADDED", [ASKED], [ASKED, ATTACHED])).toEqual([nameOf(ASKED)]);
  expect(await tell("MODIFIED", [ASKED], [ASKED, ATTACHED], { labels: { app: "web" } })).toEqual([]);
  const optedOut = { labels: { [POD_WEBHOOK]: "ignore" } };
  expect(new Set(await tell("MODIFIED", [ASKED], [ASKED, ATTACHED], optedOut))).toEqual(new Set([nameOf(ASKED)]));
  expect(new Set(await tell("MODIFIED", [ASKED], [ASKED, ATTACHED]))).toEqual(new Set([nameOf(ASKED)]));
  expect(await tell("MODIFIED", [ASKED], [ASKED])).toEqual([nameOf(ATTACHED)]);
  expect(await tell("MODIFIED", [], [ASKED, ATTACHED])).toEqual([nameOf(ASKED)]);
  expect(await tell("MODIFIED", [], [])).toEqual([nameOf(ASKED), nameOf(ATTACHED)]);
  await tell("ADDED", [], [ATTACHED]);
  expect(await tell("DELETED", [], [ATTACHED])).toEqual([nameOf(ATTACHED)]);
  for (const each of stops) each();
  stop.abort();
  await running;
});
