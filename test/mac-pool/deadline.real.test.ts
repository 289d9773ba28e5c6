import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { POD_WEBHOOK } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { PENDING_MS } from "../../src/mac-pool/claims/limits.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";
import { WarpedClock } from "./warped-clock.ts";

const MARGIN_MS = 5_000;

describe("the deadline of an address whose object never came to be", () => {
  const clock = new WarpedClock();
  const metrics = new Registry();
  const stop = new AbortController();
  let fixture: PoolFixture;
  let running: Promise<void>;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    ({ running } = await fixture.startInProcess("one", clock, metrics, stop.signal));
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    stop.abort();
    await running;
    await fixture?.[Symbol.asyncDispose]();
  });

  const leaks = async (): Promise<string | undefined> =>
    /^kubevirt_macpool_leaks_total (\d+)$/m.exec(await metrics.metrics())?.[1];

  /** The address of a new VM, once the replica knows it. */
  const bound = async (name: string): Promise<string> => {
    const vm = await fixture.admin.create(KINDS.virtualMachines, machine(name, "default", [{ name: "a" }]));
    const claims = (await fixture.claims()).length;
    const isKnown = async (): Promise<boolean> =>
      (await metrics.metrics()).includes(`informer_objects{resource="macclaims"} ${claims}\n`);
    await eventually(`the claim of ${name} is known`, isKnown);
    return macsOf(vm)[0] ?? "";
  };

  it("passes before the address of a VM is freed that was refused after the webhook", async () => {
    await fixture.admin.create(RESOURCES.validatingAdmissionPolicies, {
      metadata: { name: "late" },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["kubevirt.io"], apiVersions: ["v1"], resources: ["virtualmachines"], operations: ["CREATE"] },
          ],
        },
        validations: [
          { expression: "!object.metadata.name.startsWith('late-')", message: "refused after the webhooks" },
        ],
      },
    } as never);
    await fixture.admin.create(RESOURCES.validatingAdmissionPolicyBindings, {
      metadata: { name: "late" },
      spec: { policyName: "late", validationActions: ["Deny"] },
    });
    let count = 0;
    await eventually("the policy is in force", async () => {
      const vm = machine(`late-${count++}`, "default", [{ name: "a" }]);
      const answer = await fixture.admin.create(KINDS.virtualMachines, vm).catch((error: Error) => error.message);
      return typeof answer === "string" && answer.includes("refused after the webhooks");
    });
    const pending = (await fixture.claims()).filter((claim) => claim.status?.owners[0]?.name === `late-${count - 1}`);
    expect(pending).toMatchObject([{ status: { phase: "Allocated" } }]);
    const mac = pending[0]?.spec.mac ?? "";

    // Claims come in order: when a later one is known, the deadline of this one has begun.
    await bound("later");
    clock.putForward(PENDING_MS - MARGIN_MS);
    const other = await bound("other");
    expect((await fixture.claim(mac))?.status?.phase).toBe("Allocated");

    clock.putForward(2 * MARGIN_MS);
    await eventually("freed", async () => (await fixture.claim(mac)) === undefined);
    // The replica counts once its own deletion is answered, which others may see before.
    await eventually("counted", async () => (await leaks()) === "1");
    expect((await fixture.claim(other))?.status?.phase).toBe("Allocated");
  });

  it("passes for a pod that was refused after the webhook as well", async () => {
    const labels = { [POD_WEBHOOK]: "allocate" };
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "full", labels } });
    await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: "full" } });
    const pod = {
      metadata: { name: "p", namespace: "full", annotations: { "k8s.v1.cni.cncf.io/networks": "net1" } },
      // Refused by validation, which comes after every webhook.
      spec: { containers: [{ name: "NOT VALID", image: "none" }] },
    };
    await expect(fixture.admin.create(KINDS.pods, pod)).rejects.toThrow("NOT VALID");
    const held = async () => (await fixture.claims()).filter((claim) => claim.status?.owners[0]?.namespace === "full");
    expect(await held()).toHaveLength(1);
    await eventually("freed at the deadline", async () => {
      clock.putForward(PENDING_MS);
      return (await held()).length === 0;
    });
  });

  it("is later where a pool says that requests live longer", async () => {
    const setPending = (pendingSeconds: number | null): Promise<unknown> =>
      fixture.admin.patch(KINDS.pools, { name: "default" }, { type: "merge", body: { spec: { pendingSeconds } } });
    const mac = "02:00:00:00:00:0f";
    const refused = fixture.admin.create(
      KINDS.virtualMachines,
      machine("late-for-long", "default", [{ name: "a", macAddress: mac }]),
    );
    await expect(refused).rejects.toThrow("refused after the webhooks");
    await setPending(600);
    await eventually("the pool's time is known", async () => {
      const vm = machine("asks", "default", [{ name: "a", macAddress: mac }]);
      return fixture.admin.create(KINDS.virtualMachines, vm, { dryRun: true }).then(
        () => false,
        (error: Error) => error.message.includes("try again in 10 minutes"),
      );
    });
    await bound("before-the-longer-time");
    clock.putForward(PENDING_MS + MARGIN_MS);
    await bound("within-the-longer-time");
    expect((await fixture.claim(mac))?.status?.phase).toBe("Allocated");
    await setPending(null);
    await eventually("freed", async () => {
      clock.putForward(PENDING_MS);
      return (await fixture.claim(mac)) === undefined;
    });
  });

  it("does not end an address whose object has come to be, however late the leader looks", async () => {
    const vm = await fixture.admin.create(KINDS.virtualMachines, machine("slow", "default", [{ name: "a" }]));
    clock.putForward(10 * PENDING_MS);
    await bound("after-that");
    expect((await fixture.claim(macsOf(vm)[0] ?? ""))?.status).toMatchObject({
      phase: "Allocated",
      owners: [{ name: "slow" }],
    });
  });
});
