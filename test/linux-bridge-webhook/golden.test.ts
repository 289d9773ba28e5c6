import { describe, expect, it } from "vitest";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { AdmissionAnswer } from "../../src/kube/server/admission-server.ts";
import { podReview } from "../../src/linux-bridge-webhook/pod-review.ts";
import { appliedPatch } from "../support/applied-patch.ts";
import { NADS, PODS } from "./pods.ts";

const review = podReview({
  networks: {
    cached: ({ namespace, name }) => {
      const annotations = NADS[`${namespace}/${name}`];
      return annotations === undefined ? { kind: "missing" } : { kind: "found", annotations };
    },
    find: () => Promise.reject(new Error("everything is known")),
  },
  unusableNetworks: "Deny",
  globalNamespaces: undefined,
});

const answerTo = (pod: Pod): AdmissionAnswer =>
  review(
    {
      uid: "1",
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      operation: "CREATE",
      name: "",
      namespace: "default",
      object: pod,
      oldObject: null,
      dryRun: false,
      userInfo: {},
    },
    AbortSignal.timeout(1000),
  ) as AdmissionAnswer;

describe("the injection", () => {
  it("is what is on record for each of the pods", async () => {
    const answers = Object.fromEntries(Object.entries(PODS).map(([what, pod]) => [what, answerTo(pod)]));
    await expect(`${JSON.stringify(answers, null, 2)}\n`).toMatchFileSnapshot("../golden/injection.json");
  });

  it.each(Object.entries(PODS))("of a pod with %s is the same again when the API server asks again", (_what, pod) => {
    const answer = answerTo(pod);
    if (!answer.allowed) return expect(answerTo(pod)).toEqual(answer);
    const again = answerTo(appliedPatch(pod, answer.patch ?? []));
    expect(again.allowed && (again.patch ?? [])).toEqual([]);
  });
});
