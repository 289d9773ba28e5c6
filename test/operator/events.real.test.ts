import { afterAll, beforeAll, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { InstalledOperator } from "./support/installed-operator.ts";

let cluster: InstalledOperator;

beforeAll(async () => {
  cluster = await InstalledOperator.install();
  cluster.start();
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

/** Reasons of what has been announced since that revision, in order. */
async function reasonsSince(revision: number): Promise<string[]> {
  const { items } = await cluster.admin.list(RESOURCES.events, { namespace: "default" });
  const revisionOf = ({ metadata }: (typeof items)[number]) => Number(metadata.resourceVersion);
  return items
    .filter((event) => event.regarding?.kind === "NetworkAddonsConfig" && revisionOf(event) > revision)
    .toSorted((a, b) => revisionOf(a) - revisionOf(b))
    .map(({ reason = "" }) => reason);
}

async function deploy(spec: object): Promise<void> {
  expect(await cluster.applyConfig(spec)).toMatchObject({ code: 0 });
  await cluster.until(async () => (await cluster.condition("Progressing")) === "True");
  await cluster.rollOutUntilAvailable();
}

it("announces a component that is added: Modified, Progressing, Available, in this order and once each", async () => {
  await deploy({ linuxBridge: {} });
  await expect.poll(() => reasonsSince(0)).toEqual(["Progressing", "Available"]);
  const { resourceVersion } = await cluster.admin.list(RESOURCES.events, { namespace: "default" });
  await deploy({ linuxBridge: {}, kubeMacPool: {} });
  await expect.poll(() => reasonsSince(Number(resourceVersion))).toEqual(["Modified", "Progressing", "Available"]);
});
