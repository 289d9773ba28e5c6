import { expect, it } from "vitest";
import { besideTexts } from "../../src/cli/claim-text.ts";
import { PIPE } from "./support/macpool.ts";

const pod = (name: string, more: object = {}) => ({
  kind: "Pod" as const,
  namespace: "lab",
  name,
  node: "node-a",
  ...more,
});
const said = (name: string) => pod(name, { saidBy: "network-status" });

it("says the reason of one party behind it, and that of several once", () => {
  const one = [{ mac: "02:00:00:00:00:01", sayingPods: [said("a")] }];
  const WHO = "who may write the pod can write that";
  expect(besideTexts(one, PIPE)).toBe(
    `Pod lab/a on node-a has 02:00:00:00:00:01 too: only its annotation network-status says so, and ${WHO}.\n`,
  );
  const several = [...one, { mac: "02:00:00:00:00:02", sayingPods: [said("b")], unmanagedInstances: [pod("c")] }];
  expect(besideTexts(several, PIPE).split("\n")).toEqual([
    "Pod lab/a on node-a has 02:00:00:00:00:01 too.",
    "Pod lab/b on node-a has 02:00:00:00:00:02 too.",
    `Of each of these 2: only its annotation network-status says so, and ${WHO}.`,
    "Pod lab/c on node-a has 02:00:00:00:00:02 too: the MAC pool does not manage it.",
    "",
  ]);
});
