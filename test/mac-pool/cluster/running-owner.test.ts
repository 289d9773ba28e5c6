import { expect, it } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { ObjectReference } from "../../../src/mac-pool/claims/owner.ts";
import { isRunning } from "../../../src/mac-pool/cluster/running-owner.ts";
import { instanceOf, machine } from "../machines.ts";

const TEXT = "02:00:00:00:00:01";
const mac = parseMac(TEXT) as Mac;
const { signal } = new AbortController();
const vm = (name: string): ObjectReference => ({ kind: "VirtualMachine", namespace: "default", name });

it("finds what runs under a name prefix, which is never the VM that asks", async () => {
  const made = machine("web-1", "default", [{ name: "a", macAddress: TEXT }]);
  const instance = instanceOf({ ...made, metadata: { ...made.metadata, uid: "u1" } });
  const client = { list: async () => ({ items: [instance] }) } as unknown as KubeClient;
  const generated: ObjectReference = { kind: "VirtualMachine", namespace: "default", generateName: "web-" };
  expect(await isRunning(client, generated, { mac, asking: vm("web-2"), signal })).toBe(true);
  expect(await isRunning(client, generated, { mac, asking: vm("web-1"), signal })).toBe(false);
});
