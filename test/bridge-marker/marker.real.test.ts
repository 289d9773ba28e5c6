import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { EVERY_BRIDGE, skipReason } from "../../src/bridge-marker/bridge-resources.ts";
import { isInvalid } from "../../src/kube/client/api-error.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { share } from "../support/share.ts";
import { linkName } from "./link-names.ts";
import { key, type MarkedNode, MarkerHarness, WITHIN } from "./marker-harness.ts";

const GENERATED_NAMES = share(200);

describe("the bridge marker on a real kernel and a real API server", () => {
  let harness: MarkerHarness;
  let node: MarkedNode;

  beforeAll(async () => {
    harness = await MarkerHarness.start();
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    await harness.config.create({ linuxBridge: {} });
    node = await harness.node({ env: { LINK_MONITOR_HEARTBEAT_SECONDS: "1" } });
    await node.publishes("br1");
  });
  afterEach(async () => {
    await node[Symbol.asyncDispose]();
    await harness.config.remove();
  });

  const add = (...names: readonly string[]) =>
    Promise.all(names.map((name) => node.namespace.run("ip", "link", "add", name, "type", "bridge")));

  it("is ready once it has published the bridges that are there", async () => {
    await node.isReady();
    expect((await node.probe("healthz")).status).toBe(200);
  });

  it("publishes a bridge that is made, follows its new name, and takes back one that is gone", async () => {
    await add("br2");
    await node.publishes("br1", "br2");
    await node.namespace.run("ip", "link", "set", "br2", "name", "br3");
    await node.publishes("br1", "br3");
    await node.namespace.run("ip", "link", "del", "br1");
    await node.publishes("br3");
  });

  it("publishes every name that the API server takes, and names those that it does not", async () => {
    await add("BR1", "br.100", "abcdefghijklmno", "br~1", "brücke", "br_");
    await node.publishes("br1", "BR1", "br.100", "abcdefghijklmno");
    const said =
      "these bridges are not published, because their names are not legal resource names: br_, br~1, brücke.";
    await vi.waitFor(() => expect(node.logged("warn", said)).not.toEqual([]), WITHIN);
    expect(await node.metric('bridge_marker_skipped_bridges{reason="illegal-name"}')).toBe(3);
    expect(await node.metric("bridge_marker_bridges")).toBe(4);
  });

  it("takes for publishable exactly the names that the API server lets a pod ask for", async () => {
    const account = { namespace: "default", name: "asking" };
    await harness.admin.create(RESOURCES.serviceAccounts, { metadata: account });
    const names = [...new Set(fc.sample(linkName, GENERATED_NAMES))];
    const isTaken = async (name: string): Promise<boolean> => {
      const resources = { limits: { [key(name)]: "1" } };
      const spec = { serviceAccountName: account.name, containers: [{ name: "main", image: "any", resources }] };
      const pod = { metadata: account, spec };
      return harness.admin.create(RESOURCES.pods, pod, { dryRun: true }).then(
        () => true,
        (error) => {
          if (isInvalid(error)) return false;
          throw error;
        },
      );
    };
    const taken = await Promise.all(names.map(isTaken));
    const published = names.map((name) => skipReason({ name, hasPorts: true }, EVERY_BRIDGE) === undefined);
    expect(names.filter((_, index) => taken[index] !== published[index])).toEqual([]);
    expect([...new Set(taken)].sort()).toEqual([false, true]);
  });

  it("publishes the bridges that its flags choose, also when they get and lose ports", async () => {
    await node.kill();
    await add("br2", "br-ex", "docker0");
    await node.start({ args: ["-include", "br*", "-exclude=br-*,br9", "-only-with-ports"] });
    await node.publishes();
    await node.namespace.run("ip", "link", "add", "port", "type", "veth", "peer", "name", "far");
    await node.namespace.run("ip", "link", "set", "port", "master", "br2");
    await node.publishes("br2");
    expect(await node.metric('bridge_marker_skipped_bridges{reason="excluded"}')).toBe(2);
    expect(await node.metric('bridge_marker_skipped_bridges{reason="no-ports"}')).toBe(1);
    await node.namespace.run("ip", "link", "set", "port", "master", "br1");
    await node.publishes("br1");
    await node.namespace.run("ip", "link", "del", "port");
    await node.publishes();
  });

  it("repairs what somebody else does to its keys and leaves all others alone", async () => {
    await node.setCapacity({ [key("br1")]: "0", [key("ghost")]: "1k" });
    await node.publishes("br1");
    await node.setCapacity({ [key("br1")]: null });
    await node.publishes("br1");
  });

  it.each([
    ["died", "SIGKILL"],
    ["hangs", "SIGSTOP"],
  ] as const)("starts another link monitor in place of one that %s, and misses nothing", async (_, signal) => {
    for (const child of node.children()) process.kill(child, signal);
    await add("br2");
    await node.namespace.run("ip", "link", "del", "br1");
    await node.publishes("br2");
    expect(await node.metric("bridge_marker_link_monitor_starts_total")).toBe(2);
    expect(node.logged("error", "the link monitor ended")).toHaveLength(1);
  });

  it("measures how late it publishes, and when it did last", async () => {
    const before = Date.now() / 1000;
    await add("br2");
    await node.publishes("br1", "br2");
    expect(await node.metric("bridge_marker_event_lag_seconds_count")).toBeGreaterThan(0);
    expect(await node.metric("bridge_marker_last_success_timestamp_seconds")).toBeGreaterThan(before);
    expect(await node.metric("bridge_marker_pending_seconds")).toBe(0);
    expect(await node.metric('workqueue_adds_total{name="bridge-marker"}')).toBeGreaterThan(0);
    expect(await node.metric('informer_objects{resource="nodes"}')).toBe(1);
  });

  it("answers probes at its address only, and shows metrics to nobody without a token", async () => {
    expect(await node.probe("metrics")).toMatchObject({ status: 403 });
    await node.kill();
    await node.start({ args: ["-health-probe-host", "127.0.0.2"] });
    const at = (address: string) => fetch(`http://${address}:${node.healthPort}/healthz`).then(({ status }) => status);
    await vi.waitFor(async () => expect(await at("127.0.0.2")).toBe(200), WITHIN);
    await expect(at("127.0.0.1")).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  it("keeps the keys when it is restarted", async () => {
    expect(await node.marker.stop()).toBe(0);
    await node.publishes("br1");
    expect(node.marker.log).toContain("linuxBridge is still in the NetworkAddonsConfig");
  });

  it("removes its keys when the component was taken out of the configuration", async () => {
    await harness.config.setSpec({ linuxBridge: null });
    expect(await node.marker.stop()).toBe(0);
    await node.publishes();
  });

  it("removes its keys when the configuration is being deleted, and when it is gone", async () => {
    await harness.config.beginDeletion();
    await node.marker.stop();
    await node.publishes();
    await node.kill();
    await node.start();
    await node.publishes("br1");
    await harness.config.remove();
    await node.marker.stop();
    await node.publishes();
  });

  it("keeps the keys when the API server can't be asked", async () => {
    await harness.controlPlane.killApiServer();
    await node.marker.stop();
    expect(node.marker.log).toContain("the NetworkAddonsConfig could not be read");
    await harness.controlPlane.restartApiServer();
    await node.publishes("br1");
  });

  it("fits in a small pod, with the credentials of a service account", async () => {
    await node.kill();
    await node.start({ account: await harness.account() });
    await node.isReady();
    const status = readFileSync(`/proc/${node.marker.pid}/status`, "utf8");
    const [resident, anonymous] = [/VmRSS:\s+(\d+)/, /RssAnon:\s+(\d+)/].map((field) =>
      Number(field.exec(status)?.[1]),
    );
    console.log(`bridge-marker: ${resident} kB resident, ${anonymous} kB of it its own`);
    expect(resident).toBeLessThan(120_000);
  });
});
