import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import type { PairedLink } from "../../../src/linux-bridge/agent/host-links.ts";
import { UnpluggedAttachments } from "../../../src/linux-bridge/agent/unplugged.ts";

const NAMESPACE = 3;
const link = (index: number, name: string, more: Partial<PairedLink> = {}): PairedLink => {
  return { index, name, alias: "", filtersVlans: undefined, isPort: false, peer: undefined, ...more };
};
const PORT = link(9, "veth0", { alias: "cni-bridge:blue/c1/pod9a6a", peer: { index: 2, namespaceId: NAMESPACE } });
const [LEFT, DUMMY] = [link(2, "9a6a-nic"), link(5, "pod9a6a")];

let results: string;
let inside: readonly PairedLink[];
let reports: string[];
let logged: string[];
let attachments: UnpluggedAttachments;

beforeEach(async () => {
  results = await mkdtemp(join(tmpdir(), "results-"));
  [inside, reports, logged] = [[LEFT], [], []];
  attachments = new UnpluggedAttachments({
    listLinks: async (namespaceId) => (namespaceId === NAMESPACE ? inside : [link(1, "lo"), PORT]),
    resultDirectories: [join(results, "missing"), results],
    report: (message) => reports.push(message),
    clock: systemClock,
    log: { ...silentLog, warn: (_: object | string, message?: string) => logged.push(message ?? "") },
  });
});
afterEach(() => rm(results, { recursive: true }));

it("is reported once when it lasts, logged by the name of its pod, and counted until it goes", async () => {
  const cniArgs = [
    ["K8S_POD_NAMESPACE", "shop"],
    ["K8S_POD_NAME", "virt-launcher-web"],
  ];
  await writeFile(join(results, "blue-c1-pod9a6a"), JSON.stringify({ kind: "cniCacheV1", cniArgs }));
  await attachments.pass();
  expect([reports, attachments.count]).toEqual([[], 0]);
  await attachments.pass();
  await attachments.pass();
  expect(logged).toEqual([
    expect.stringContaining("Interface pod9a6a of pod shop/virt-launcher-web on network blue was unplugged"),
  ]);
  // The event stands in namespace default, for all who read that.
  expect(reports).toEqual([expect.stringContaining("Interface pod9a6a of a pod was unplugged")]);
  expect(reports[0]).not.toMatch(/shop|virt-launcher|blue|c1/);
  expect(attachments.count).toBe(1);
  inside = [];
  await attachments.pass();
  expect(attachments.count).toBe(0);
});

it("is not reported when a DEL follows, nor while the interface is in use under another name", async () => {
  await attachments.pass();
  inside = [];
  await attachments.pass();
  for (const used of [[{ ...LEFT, isPort: true }], [LEFT, DUMMY], [link(2, "storage")]]) {
    inside = used;
    await attachments.pass();
    await attachments.pass();
  }
  expect([reports, attachments.count]).toEqual([[], 0]);
});

it("is named by its container where no cached result names the pod", async () => {
  await writeFile(join(results, "blue-c1-pod9a6a"), "garbled");
  await attachments.pass();
  await attachments.pass();
  expect(logged).toEqual([expect.stringContaining("of pod in container c1 on network blue")]);
});
