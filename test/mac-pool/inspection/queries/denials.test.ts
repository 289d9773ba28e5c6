import { describe, expect, it } from "vitest";
import type { Mac } from "../../../../src/api/mac.ts";
import type { OwnerKind } from "../../../../src/api/mac-claim.ts";
import { systemClock } from "../../../../src/kube/clock.ts";
import type { AdmissionRequest } from "../../../../src/kube/server/admission-server.ts";
import { hostAddress } from "../../../../src/mac-pool/claims/host-refusals.ts";
import { conflict } from "../../../../src/mac-pool/claims/refusals.ts";
import { DenialLog, DenialQueries } from "../../../../src/mac-pool/inspection/queries/denials.ts";
import { EVERYTHING, type Scope } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { denialViewSchema, ownerHistoryViewSchema } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { heldBytes } from "../../../support/held-bytes.ts";
import { FIRST, InspectionFixture, instanceOf, owner, vmOf } from "../inspection-fixture.ts";

const MB = 1024 * 1024;

const request = (namespace: string, name: string): AdmissionRequest =>
  ({ namespace, name, operation: "CREATE", dryRun: false, object: {}, oldObject: null }) as unknown as AdmissionRequest;

const refusal = (mac = FIRST) =>
  conflict(mac, "nic", [owner("other", "secret")], {
    field: "macAddress",
    pendingMs: 120_000,
    isAwaited: false,
    objectsListing: [],
  });

function add(log: DenialLog, namespace: string, name: string, mac?: Mac): void {
  log.add("VirtualMachine", request(namespace, name), refusal(mac));
}

describe("the refusals that a replica remembers", () => {
  it("count what is refused again and again", () => {
    const log = new DenialLog("one", systemClock);
    for (let i = 0; i < 3; i++) add(log, "mine", "web");
    add(log, "mine", "web", (FIRST + 1) as Mac);
    const [newest, first] = log.list(EVERYTHING).map((view) => denialViewSchema.parse(view));
    expect(newest).toMatchObject({ count: 1, mac: "02:5d:1c:00:00:01" });
    expect(first).toMatchObject({ count: 3, name: "web", interface: "nic", code: "MACPOOL_CONFLICT", replica: "one" });
  });

  it("are in the history of the VM with their code", async () => {
    await using fixture = await InspectionFixture.start();
    add(fixture.denials, "default", "web");
    const told = await fixture.inspector.owner(
      { kind: "VirtualMachine", namespace: "default", name: "web" },
      EVERYTHING,
    );
    expect(ownerHistoryViewSchema.parse(told).history).toMatchObject([{ what: "refused", code: "MACPOOL_CONFLICT" }]);
  });

  it("are in the history of the VM also where its instance or a launcher was refused, until it has started", async () => {
    let nowMs = Date.parse("2026-01-01T00:00:00Z");
    const clock = { ...systemClock, now: () => nowMs };
    await using fixture = await InspectionFixture.start({ clock, machines: [vmOf("default", "web", [FIRST])] });
    const history = async (kind: OwnerKind, name: string) =>
      (await fixture.inspector.owner({ kind, namespace: "default", name }, EVERYTHING)).history.flatMap((entry) =>
        entry.what === "refused" ? [entry.interface] : [entry.message],
      );
    const refuse = (kind: OwnerKind, name: string, about: string): void => {
      nowMs += 1_000;
      const named = request("default", name.endsWith("-") ? "" : name);
      const object = { metadata: name.endsWith("-") ? { generateName: name } : { name } };
      const asked = { ...named, object } as unknown as AdmissionRequest;
      fixture.denials.add(kind, asked, { ...refusal(), about: { interface: about } });
    };
    refuse("VirtualMachineInstance", "web", "instance");
    refuse("VirtualMachineInstance", "web-db", "another instance");
    refuse("Pod", "virt-launcher-web-", "launcher");
    refuse("Pod", "virt-launcher-web-x7k2p", "named launcher");
    refuse("Pod", "virt-launcher-web-db-", "another launcher");
    refuse("Pod", "web", "pod");
    expect(await history("VirtualMachine", "web")).toEqual([
      "named launcher",
      "launcher",
      "instance",
      "VirtualMachine was created",
    ]);
    const { history: told } = await fixture.inspector.owner(
      { kind: "VirtualMachine", namespace: "default", name: "web" },
      EVERYTHING,
    );
    expect(told.map(({ object }) => object)).toEqual([
      { kind: "Pod", name: "virt-launcher-web-x7k2p" },
      { kind: "Pod", name: "virt-launcher-web-*" },
      { kind: "VirtualMachineInstance", name: "web" },
      undefined,
    ]);
    expect(await history("VirtualMachineInstance", "web-db")).toEqual(["another launcher", "another instance"]);
    // There is no such VM, so it is not the VM that was refused.
    await expect(history("VirtualMachine", "web-db")).rejects.toMatchObject({ view: { code: "MACPOOL_NOT_FOUND" } });
    expect(await history("Pod", "web")).toEqual(["pod"]);
    const started = instanceOf(vmOf("default", "web", [FIRST]), "node-a");
    const metadata = { ...started.metadata, creationTimestamp: "2026-01-01T00:01:00Z" };
    await fixture.objects.tell("ADDED", "virtualmachineinstances", { ...started, metadata });
    expect((await history("VirtualMachine", "web"))[0]).toBe("VirtualMachineInstance was created");
  });

  it("name an owner elsewhere to those only who may see everything", () => {
    const log = new DenialLog("one", systemClock);
    add(log, "mine", "web");
    expect(log.list(EVERYTHING)[0]?.message).toContain("other/secret");
    const [told] = log.list({ namespace: "mine" });
    expect(told?.message).toContain("an object in another namespace");
    expect(told?.message).not.toContain("secret");
    expect(log.list({ namespace: "other" })).toEqual([]);
  });

  it("name a node to those only who may see everything", () => {
    const log = new DenialLog("one", systemClock);
    const asks = owner("mine", "web");
    const hosts = [{ node: "node-a", interface: "eno1" }];
    log.add("VirtualMachine", request("mine", "web"), hostAddress(FIRST, asks, hosts, "macAddress"));
    const told = (scope: Scope) => log.list(scope).map(({ message }) => message.split(" is the address of ")[1]);
    const rest =
      " The two would receive each other's traffic. Leave macAddress out to get an address from the pool, or choose another one.";
    expect(told(EVERYTHING)).toEqual([`interface eno1 of node node-a.${rest}`]);
    expect(told({ namespace: "mine" })).toEqual([`an interface of a node.${rest}`]);
  });

  it("are bounded, and a flood in one namespace displaces nobody else's", () => {
    const log = new DenialLog("one", systemClock, 10);
    for (let i = 0; i < 3; i++) add(log, "quiet", `vm-${i}`);
    for (let i = 0; i < 1_000; i++) add(log, "loud", `vm-${i}`);
    expect(log.size).toBe(10);
    expect(log.list({ namespace: "quiet" })).toHaveLength(3);
    expect(log.list({ namespace: "loud" }).map(({ name }) => name)).toContain("vm-999");
  });

  it("are merged with those of other replicas, and say who did not answer", async () => {
    const [own, other] = [new DenialLog("one", systemClock), new DenialLog("two", systemClock)];
    add(own, "mine", "web");
    add(other, "mine", "db");
    const asked: string[] = [];
    const ask = async (path: string) => {
      asked.push(path);
      const items = other.list(path.includes("scope=mine") ? { namespace: "mine" } : EVERYTHING);
      return {
        answers: [
          { replica: "two", answer: { items } },
          { replica: "four", answer: { items: [{ nonsense: true }] } },
        ],
        missing: ["three"],
      };
    };
    const queries = new DenialQueries(own, { ask });
    const merged = await queries.merged({}, { namespace: "mine" });
    expect(merged).toMatchObject({ total: 2, partial: ["three", "four"] });
    expect(merged.items.map(({ replica }) => replica).sort()).toEqual(["one", "two"]);
    expect(JSON.stringify(merged)).not.toContain("secret");
    expect((await queries.merged({ name: "db" }, EVERYTHING)).items).toHaveLength(1);
    expect(asked).toEqual(["/api/v1/denials?local=true&scope=mine", "/api/v1/denials?local=true"]);
  });

  it("keep no part of a request alive", () => {
    const log = new DenialLog("one", systemClock, 100);
    const before = heldBytes();
    for (let i = 0; i < 100; i++) {
      const text = `${i}`.padEnd(MB, "x");
      log.add("Pod", request(text, text), { code: "MACPOOL_INVALID_MAC", about: { interface: text }, message: text });
      const about = { interface: text.slice(i, i + 15) };
      log.add("Pod", request("mine", text.slice(0, 20)), { code: "MACPOOL_INVALID_MAC", about, message: "no" });
    }
    expect(log.size).toBe(100);
    expect(heldBytes() - before).toBeLessThan(2 * MB);
  });
});
