import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXPLICIT_POLICIES, type ExplicitAddresses } from "../../src/api/mac-pool.ts";
import { OPT_OUT, WAIT_AS_RECEIVER } from "../../src/api/mac-pool-scope.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { runCommand } from "../cluster/command.ts";
import { eventually } from "../support/eventually.ts";
import { guestSpec, instanceOf, machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const NAMESPACES = { open: "Anywhere", fenced: "OwnPool", left: "OutsidePools" } as const;
type Namespace = keyof typeof NAMESPACES;
const macIn = (namespace: Namespace, last: string): string =>
  `02:5d:1c:0${EXPLICIT_POLICIES.indexOf(NAMESPACES[namespace])}:${last}`;

const refusalIn = (namespace: "fenced" | "left"): string =>
  `serves namespace ${namespace} with explicitAddresses ${NAMESPACES[namespace]}.`;

describe("addresses that are asked for by hand, on a real API server", { timeout: 120_000 }, () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    for (const [name, explicitAddresses] of Object.entries(NAMESPACES)) {
      await fixture.admin.create(RESOURCES.namespaces, {
        metadata: { name, labels: { pool: name, [POD_WEBHOOK]: "allocate" } },
      });
      await fixture.createPool(name, {
        ranges: [{ start: macIn(name as Namespace, "00:00"), end: macIn(name as Namespace, "ff:ff") }],
        namespaceSelector: { matchLabels: { pool: name } },
        explicitAddresses,
        quarantineSeconds: 0,
      });
    }
    // A pod needs one, and no controller makes it here.
    await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: "fenced" } });
    await fixture.registerWebhooks();
  }, 120_000);
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const create = (name: string, namespace: string, macAddress?: string): Promise<KubeObject> =>
    fixture.admin.create(
      KINDS.virtualMachines,
      machine(name, namespace, [macAddress === undefined ? { name: "net1" } : { name: "net1", macAddress }]),
    );

  const pod = (name: string, element: object, labels: Record<string, string> = {}): KubeObject => ({
    metadata: {
      name,
      namespace: "fenced",
      labels,
      annotations: { [NETWORKS_ANNOTATION]: JSON.stringify([{ name: "br1-net", ...element }]) },
    },
    spec: { containers: [{ name: "main", image: "any" }] },
  });

  /** Every replica decides by it when this resolves. */
  async function setPolicy(name: Namespace, explicitAddresses: ExplicitAddresses): Promise<void> {
    await fixture.admin.patch(KINDS.pools, { name }, { type: "merge", body: { spec: { explicitAddresses } } });
    const probe = machine("probe", name, [{ name: "net1", macAddress: "52:54:00:00:00:99" }]);
    const isAllowed = explicitAddresses !== "OwnPool";
    await eventually(`the policy of ${name} is ${explicitAddresses}`, async () => {
      const asked = fixture.admin.create(KINDS.virtualMachines, probe, { dryRun: true });
      return (
        (await asked.then(
          () => true,
          () => false,
        )) === isAllowed
      );
    });
  }

  it("are admitted or refused by the policy of the pool, dry run or not, as kubectl prints it", async () => {
    const nobodys = "52:54:00:aa:00:01";
    const [open, fenced, left] = [macIn("open", "00:05"), macIn("fenced", "00:05"), macIn("left", "00:05")];
    const asked: readonly (readonly [Namespace, string, boolean])[] = [
      ["open", open, true],
      ["open", fenced, true],
      ["open", nobodys, true],
      ["fenced", fenced, true],
      ["fenced", open, false],
      ["fenced", nobodys, false],
      ["left", left, false],
      ["left", open, false],
      ["left", nobodys, true],
    ];
    const { kubectlPath, kubeconfig } = fixture.controlPlane;
    for (const [namespace, mac, isAllowed] of asked) {
      for (const dryRun of [["--dry-run=server"], []]) {
        const applied = await runCommand([kubectlPath, "--kubeconfig", kubeconfig, "apply", ...dryRun, "-f", "-"], {
          stdin: JSON.stringify(machine("web", namespace, [{ name: "net1", macAddress: mac }])),
        });
        expect([namespace, mac, applied.code === 0]).toEqual([namespace, mac, isAllowed]);
        if (!isAllowed) expect(applied.stderr).toContain(refusalIn(namespace as "fenced" | "left"));
      }
      if (!isAllowed) continue;
      await fixture.admin.delete(KINDS.virtualMachines, { name: "web", namespace });
      await eventually("the address is free", async () => (await fixture.claim(mac)) === undefined);
    }
    expect(await fixture.metrics("one")).toMatch(
      /kubevirt_macpool_denials_total\{reason="MACPOOL_EXPLICIT_ADDRESS"\} [1-9]/,
    );
  });

  it("are refused in every notation and by every way, without a word about who has them", async () => {
    const theirs = macIn("left", "00:0a");
    const victim = await create("secret", "left");
    const taken = macsOf(victim)[0] ?? "";
    const digits = theirs.replaceAll(":", "");
    const notations = [
      theirs,
      taken,
      theirs.toUpperCase(),
      theirs.replaceAll(":", "-"),
      digits,
      digits.replace(/^(....)(....)/, "$1.$2."),
    ];
    const own = await create("own", "fenced");
    const ref = { name: "own", namespace: "fenced" };
    const instance = { metadata: { name: "alone", namespace: "fenced" } };
    const forged = instanceOf(own);
    const optOut = { [POD_WEBHOOK]: OPT_OUT, [VM_WEBHOOK]: OPT_OUT };
    for (const mac of notations) {
      const spec = guestSpec([{ name: "net1", macAddress: mac }]);
      const changed = machine("own", "fenced", [{ name: "net1", macAddress: mac }]);
      const ways = {
        create: () => create("thief", "fenced", mac),
        generated: () =>
          fixture.admin.create(KINDS.virtualMachines, {
            ...machine("", "fenced", [{ name: "net1", macAddress: mac }]),
            metadata: { generateName: "thief-", namespace: "fenced" },
          }),
        second: () =>
          fixture.admin.create(
            KINDS.virtualMachines,
            machine("thief", "fenced", [{ name: "net1" }, { name: "net2", macAddress: mac }]),
          ),
        optedOut: () =>
          fixture.admin.create(
            KINDS.virtualMachines,
            machine("thief", "fenced", [{ name: "net1", macAddress: mac }], optOut),
          ),
        update: () => fixture.admin.patch(KINDS.virtualMachines, ref, { type: "merge", body: { spec: changed.spec } }),
        instance: () => fixture.admin.create(KINDS.instances, { ...instance, spec }),
        forged: () => fixture.admin.create(KINDS.instances, { ...forged, spec }),
        pod: () => fixture.admin.create(RESOURCES.pods, pod("thief", { mac }) as never),
        cniArgs: () => fixture.admin.create(RESOURCES.pods, pod("thief", { "cni-args": { mac } }) as never),
        podOptedOut: () => fixture.admin.create(RESOURCES.pods, pod("thief", { mac }, optOut) as never),
      };
      for (const [way, attempt] of Object.entries(ways)) {
        const message = await attempt().then(
          () => "admitted",
          (error: Error) => error.message,
        );
        expect(`${mac} ${way}: ${message}`).toContain(refusalIn("fenced"));
        expect(message).not.toMatch(/left|secret|02:5d:1c:02:00:00-/);
      }
    }
    expect(await fixture.claim(theirs)).toBeUndefined();
    expect((await fixture.claim(taken))?.status?.owners).toMatchObject([{ name: "secret" }]);
    expect(
      (await fixture.claims()).flatMap(({ status }) => status?.owners.map(({ name }) => name) ?? []),
    ).not.toContain("thief");
  });

  it("stay with what has them when the policy is tightened: it is changed, stopped and started", async () => {
    const mac = macIn("left", "00:0b");
    const vm = await create("first", "open", mac);
    await fixture.admin.create(KINDS.instances, instanceOf(vm));
    await setPolicy("open", "OwnPool");
    const ref = { name: "first", namespace: "open" };
    await fixture.admin.delete(KINDS.instances, ref);
    const more = machine("first", "open", [{ name: "net1", macAddress: mac }, { name: "net2" }]);
    const changed = await fixture.admin.patch(KINDS.virtualMachines, ref, { type: "merge", body: { spec: more.spec } });
    expect(macsOf(changed)[0]).toBe(mac);
    await fixture.admin.create(KINDS.instances, instanceOf(changed));
    const renamed = machine("first", "open", [{ name: "moved", macAddress: mac }]);
    await fixture.admin.patch(KINDS.virtualMachines, ref, { type: "merge", body: { spec: renamed.spec } });
    // What is not named keeps its address, as by the apply of a manifest without addresses.
    const silent = machine("first", "open", [{ name: "moved" }]);
    const kept = await fixture.admin.patch(KINDS.virtualMachines, ref, { type: "merge", body: { spec: silent.spec } });
    expect(macsOf(kept)).toEqual([mac]);
    await expect(create("second", "open", macIn("left", "00:0c"))).rejects.toThrow(
      "serves namespace open with explicitAddresses OwnPool",
    );
    expect((await fixture.claim(mac))?.status?.owners).toMatchObject([{ name: "first" }]);
    await fixture.admin.delete(KINDS.instances, ref);
    await fixture.admin.delete(KINDS.virtualMachines, ref);
    await setPolicy("open", "Anywhere");
  });

  it("are judged for a receiver of a live migration as for any VM, and stay with it when it stops or starts", async () => {
    const waiting = (name: string, mac: string): KubeObject => {
      const vm = machine(name, "open", [{ name: "net1", macAddress: mac }]);
      return { ...vm, spec: { ...(vm.spec as object), runStrategy: WAIT_AS_RECEIVER } };
    };
    const ref = (name: string) => ({ name, namespace: "open" });
    const setStrategy = (name: string, runStrategy: string): Promise<KubeObject> =>
      fixture.admin.patch(KINDS.virtualMachines, ref(name), { type: "merge", body: { spec: { runStrategy } } });
    const macs = { ran: "02:ee:00:00:00:05", halts: "02:ee:00:00:00:06", runs: "02:ee:00:00:00:07" };
    await create("ran", "open", macs.ran);
    await setStrategy("ran", "Always");
    for (const name of ["halts", "runs"] as const)
      await fixture.admin.create(KINDS.virtualMachines, waiting(name, macs[name]));
    await setPolicy("open", "OwnPool");

    await setStrategy("ran", WAIT_AS_RECEIVER);
    await setStrategy("ran", "Always");
    await setStrategy("ran", WAIT_AS_RECEIVER);
    await setStrategy("ran", "Halted");
    await setStrategy("halts", "Halted");
    await setStrategy("runs", "Always");
    for (const [name, mac] of Object.entries(macs))
      expect((await fixture.claim(mac))?.status?.owners).toMatchObject([{ name }]);

    const forbidden = macIn("left", "00:0f");
    const taking = waiting("ran", forbidden);
    const { kubectlPath, kubeconfig } = fixture.controlPlane;
    const checked = await runCommand(
      [kubectlPath, "--kubeconfig", kubeconfig, "create", "--dry-run=server", "-f", "-"],
      { stdin: JSON.stringify(waiting("late", forbidden)) },
    );
    expect(checked.stderr).toContain("receive it in a namespace whose MACPool allows this address");
    const refusal = "serves namespace open with explicitAddresses OwnPool";
    await expect(fixture.admin.create(KINDS.virtualMachines, waiting("late", forbidden))).rejects.toThrow(refusal);
    await expect(
      fixture.admin.patch(KINDS.virtualMachines, ref("ran"), { type: "merge", body: { spec: taking.spec } }),
    ).rejects.toThrow(refusal);
    expect(await fixture.claim(forbidden)).toBeUndefined();
    expect(await fixture.admin.create(KINDS.virtualMachines, waiting("welcome", macIn("open", "00:0f")))).toBeDefined();
    for (const name of [...Object.keys(macs), "welcome"]) await fixture.admin.delete(KINDS.virtualMachines, ref(name));
    await setPolicy("open", "Anywhere");
  });

  it("stay with a VM whose namespace moves to another pool, and are judged by the new one from then on", async () => {
    const metadata = { name: "nomad", labels: { pool: "open", [POD_WEBHOOK]: "allocate" } };
    await fixture.admin.create(RESOURCES.namespaces, { metadata });
    const [before, chosen] = [await create("before", "nomad", macIn("left", "00:0d")), await create("chosen", "nomad")];
    await fixture.admin.patch(
      RESOURCES.namespaces,
      { name: "nomad" },
      {
        type: "merge",
        body: { metadata: { labels: { pool: "fenced" } } },
      },
    );
    await eventually("the namespace is served by the new pool", async () => {
      const probe = machine("probe", "nomad", [{ name: "net1", macAddress: "52:54:00:00:00:98" }]);
      const asked = fixture.admin.create(KINDS.virtualMachines, probe, { dryRun: true });
      return asked.then(
        () => false,
        (error: Error) => error.message.includes("MACPool fenced, which serves namespace nomad"),
      );
    });
    for (const vm of [before, chosen]) {
      const [mac = ""] = macsOf(vm);
      const { name = "" } = vm.metadata;
      const more = machine(name, "nomad", [{ name: "net1", macAddress: mac }, { name: "net2" }]);
      const ref = { name, namespace: "nomad" };
      const changed = await fixture.admin.patch(KINDS.virtualMachines, ref, {
        type: "merge",
        body: { spec: more.spec },
      });
      expect(macsOf(changed)[0]).toBe(mac);
      await fixture.admin.create(KINDS.instances, instanceOf(changed));
    }
    await expect(create("after", "nomad", macIn("open", "00:0e"))).rejects.toThrow("with explicitAddresses OwnPool");
    expect(await create("own", "nomad", macIn("fenced", "00:0e"))).toBeDefined();
  });

  it("have a policy that the CRD knows", async () => {
    const spec = { explicitAddresses: "Nowhere" };
    await expect(
      fixture.admin.patch(KINDS.pools, { name: "open" }, { type: "merge", body: { spec } as never }),
    ).rejects.toThrow(
      'spec.explicitAddresses: Unsupported value: "Nowhere": supported values: "Anywhere", "OwnPool", "OutsidePools"',
    );
  });
});
