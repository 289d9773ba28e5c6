import { describe, expect, it } from "vitest";
import { claimName, type Mac, parseMac } from "../../../src/api/mac.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../../src/api/names.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../../../src/kube/server/admission-server.ts";
import { reviewPod } from "../../../src/mac-pool/admission/pod-review.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { reviewParts, reviewRequest, signal } from "./review-fixture.ts";

const macAt = (number: number): string => `02:5d:00:00:${[number >> 8, number & 255].map(octet).join(":")}`;
const octet = (value: number): string => value.toString(16).padStart(2, "0");
const claimAt = (number: number): string => claimName(parseMac(macAt(number)) as Mac);

const [A, B, C] = [1, 2, 3].map(macAt);
const listOf = (first: number, count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({ name: "n", interface: `if${index}`, mac: macAt(first + index) }));

const pod = (networks: unknown, more: object = {}): object => ({
  metadata: {
    name: "web",
    namespace: "default",
    uid: "u1",
    annotations: { [NETWORKS_ANNOTATION]: typeof networks === "string" ? networks : JSON.stringify(networks) },
    ...more,
  },
});

interface Reviewed {
  readonly answer: AdmissionAnswer;
  readonly writes: readonly string[];
  /** The annotation as it is stored then. */
  readonly networks: readonly { readonly mac?: string }[];
}

async function update(before: object, after: object, store = new MemoryClaimStore()): Promise<Reviewed> {
  const oldObject = before as AdmissionRequest["oldObject"];
  const request = reviewRequest("Pod", after, { operation: "UPDATE", oldObject });
  const written = store.writes.length;
  const { answer } = await reviewPod(request, reviewParts(store), signal);
  const { annotations } = (after as { metadata: { annotations: Record<string, string> } }).metadata;
  const text = (answer.allowed ? answer.patch?.[0]?.value : undefined) ?? annotations[NETWORKS_ANNOTATION];
  return { answer, writes: store.writes.slice(written), networks: JSON.parse(String(text)) };
}

describe("a pod whose networks change", () => {
  it("has the address of a network that is plugged in claimed, and keeps the others without a claim", async () => {
    const [old, next] = [
      { name: "n", mac: A },
      { name: "m", interface: "plugged", mac: B },
    ];
    const { answer, writes } = await update(pod([old]), pod([old, next]));
    expect(answer).toEqual({ allowed: true });
    expect(writes).toEqual([`create ${claimAt(2)}`]);
  });

  it("gets an address for a network that is plugged in without one, the same for each review of the update", async () => {
    const store = new MemoryClaimStore();
    const [before, after] = [pod([{ name: "n", mac: A }]), pod([{ name: "n", mac: A }, { name: "m" }])];
    const first = await update(before, after, store);
    expect(first.networks).toEqual([
      { name: "n", mac: A },
      { name: "m", mac: expect.stringMatching(/^02:00:00:0/) },
    ]);
    expect([...store.claims.values()]).toMatchObject([
      { status: { owners: [{ kind: "Pod", name: "web", uid: "u1", interface: "net2" }] } },
    ]);
  });

  it("keeps an address that the new text leaves out, and one without any stays so", async () => {
    const store = new MemoryClaimStore();
    const given = await update(pod([{ name: "n", mac: A }]), pod("n"), store);
    expect(given.networks).toEqual([{ name: "n", mac: A }]);
    const bare = { name: "older", interface: "bare" };
    const stays = await update(pod([bare]), pod([bare, { name: "n", mac: A, interface: "new" }]), store);
    expect(stays.answer).toEqual({ allowed: true });
    expect(store.writes).toEqual([`create ${claimAt(1)}`]);
  });

  it("gives up networks whatever else it has, without a claim", async () => {
    const several = { name: "n", interface: "odd", mac: A, "cni-args": { mac: B } };
    const crowd = [several, ...listOf(1_000, 700)];
    for (const after of [crowd, crowd.slice(0, 500), [several], []]) {
      expect(await update(pod(crowd), pod(after))).toMatchObject({ answer: { allowed: true }, writes: [] });
    }
  });

  it("is refused as a new one would be", async () => {
    const store = new MemoryClaimStore();
    const refused = async (networks: unknown): Promise<string> => {
      const { answer, writes } = await update(pod([{ name: "n", mac: A }]), pod(networks), store);
      expect(writes).toEqual([]);
      return answer.allowed ? "" : answer.message;
    };
    expect(await refused(listOf(1, 700))).toContain("Pod default/web has 700 interfaces. The maximum is 128");
    expect(await refused([{ name: "n", mac: B, MAC: C }])).toContain("asks for several MAC addresses");
    expect(await refused([{ name: "n", mac: "01:00:00:00:00:01" }])).toContain("multicast");
    const other = pod([{ name: "n", mac: B }], { name: "other" });
    await reviewPod(reviewRequest("Pod", other, { name: "other" }), reviewParts(store), signal);
    expect(await refused([{ name: "n", mac: B }])).toContain("is in use by Pod default/other (net1)");
  });

  it("is left alone where its networks stay, or can't be read", async () => {
    const networks = [{ name: "n" }, { name: "m", mac: A }];
    const { answer, writes } = await update(pod(networks), pod(networks, { labels: { app: "web" } }));
    expect({ answer, writes }).toEqual({ answer: { allowed: true }, writes: [] });
    const request = reviewRequest("Pod", pod('[{"name": '), { operation: "UPDATE" });
    const unread = await reviewPod(
      { ...request, oldObject: pod(networks) as AdmissionRequest["oldObject"] },
      reviewParts(),
      signal,
    );
    expect(unread.answer).toMatchObject({ allowed: true, warnings: [expect.stringContaining("can't be read")] });
  });

  it("has everything claimed once it opts out no longer", async () => {
    const labels = { [POD_WEBHOOK]: "ignore" };
    const after = pod([
      { name: "n", mac: A },
      { name: "m", mac: B },
    ]);
    const { writes } = await update(pod([{ name: "n", mac: A }], { labels }), after);
    expect(writes).toEqual([`create ${claimAt(1)}`, `create ${claimAt(2)}`]);
  });
});
