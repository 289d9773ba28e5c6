import { expect, it } from "vitest";
import { besideText } from "../../src/cli/claim-text.ts";
import { PIPE } from "./support/macpool.ts";

it("says of a pod that asks for an address that it asks, and of another one that only its annotation says so", () => {
  const pod = { kind: "Pod", namespace: "lab", name: "t4", node: "node-b", saidBy: "network-status" } as const;
  const text = (party: object): string => besideText("02:00:00:00:00:03", { sayingPods: [{ ...pod, ...party }] }, PIPE);
  expect(text({})).toBe(
    "Pod lab/t4 on node-b has 02:00:00:00:00:03 too: only its annotation network-status says so, and who may write the pod can write that.\n",
  );
  expect(text({ asksForIt: true })).toBe(
    "Pod lab/t4 on node-b has 02:00:00:00:00:03 too: it asks for it in its annotation networks; its annotation network-status says so, " +
      "and who may write the pod can write that.\n",
  );
});
