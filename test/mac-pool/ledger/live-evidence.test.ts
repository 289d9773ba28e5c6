import { expect, it } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { KubeObject, Resource } from "../../../src/kube/client/resource.ts";
import type { Party } from "../../../src/mac-pool/core/party.ts";
import { readEvidence } from "../../../src/mac-pool/ledger/live-evidence.ts";
import { machine } from "../machines.ts";

const TEXT = "02:00:00:00:00:01";
const mac = parseMac(TEXT) as Mac;
const made = machine("web", "default", [{ name: "a", macAddress: TEXT }]);
const vm: KubeObject = { ...made, metadata: { ...made.metadata, uid: "u1" } };
const web: Party = { kind: "VirtualMachine", namespace: "default", name: "web" };

/** What is asked for until it is known who has the address, in a cluster with one VM. */
async function reads(...parties: readonly Party[]): Promise<string[]> {
  const asked: string[] = [];
  const client = {
    async get({ plural }: Resource) {
      asked.push(plural);
      if (plural === "virtualmachines") return vm;
      throw new ApiError({ status: 404, reason: "NotFound", message: "not found" });
    },
    async list({ plural }: Resource) {
      asked.push(`all ${plural}`);
      return { items: [] };
    },
  } as unknown as KubeClient;
  await readEvidence(client, mac, parties, () => true, new AbortController().signal);
  return asked;
}

it("asks for the VM only, where it has the address and may be all that is known by its name", async () => {
  expect(await reads(web)).toEqual(["virtualmachines"]);
  expect(await reads(web, { ...web, uid: "u1" }, web)).toEqual(["virtualmachines"]);
});

it("goes on to the instance and its launchers where another VM of that name may have left them", async () => {
  const everything = ["virtualmachines", "virtualmachineinstances", "all pods"];
  expect(await reads({ ...web, uid: "u0" })).toEqual(everything);
  expect(await reads({ ...web, uid: "u0" }, web, { ...web, uid: "u1" })).toEqual(everything);
});
