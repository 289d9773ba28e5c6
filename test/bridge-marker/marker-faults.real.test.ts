import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NODE_MACS } from "../../src/api/kinds.ts";
import type { NodeMACs } from "../../src/api/node-macs.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { denyingPolicy } from "../../src/operator/manifests/admission-policy.ts";
import { scriptedMonitor, seenLink } from "../links/scripted-monitor.ts";
import { createAny } from "../support/create-any.ts";
import { eventually } from "../support/eventually.ts";
import { EVENTS_PER_SECOND, linkStorm } from "./link-storm.ts";
import { key, type MarkedNode, MarkerHarness, markerRole, ROLE, USER, WITHIN } from "./marker-harness.ts";

const AWAY_SECONDS = Number(process.env.API_SERVER_AWAY_SECONDS ?? 5);
const STORM_SECONDS = Number(process.env.MARKER_STORM_SECONDS ?? 5);
/** A connection is cut, then refused. */
const KINDS_OF_SILENCE = 3;
/** What MIN_PATCH_INTERVAL_MS allows. */
const PATCHES_PER_SECOND = 5;
/** More versions than an API server that starts gives out by itself. */
const LOST_WRITES = 400;
const CANNOT = "can't be published";
const SUCCESSES = 'bridge_marker_patches_total{result="success"}';
const ERRORS = 'bridge_marker_patches_total{result="error"}';

describe("the bridge marker while something is wrong", () => {
  let harness: MarkerHarness;
  let admin: KubeClient;
  let node: MarkedNode;

  beforeAll(async () => {
    harness = await MarkerHarness.start();
    admin = harness.admin;
    await harness.config.create({ linuxBridge: {} });
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    node = await harness.node();
    await node.publishes("br1");
    await node.isReady();
  });
  afterEach(async () => {
    await node[Symbol.asyncDispose]();
  });

  const ip = (...args: readonly string[]) => node.namespace.run("ip", "link", ...args);
  const isAlive = async () => expect((await node.probe("healthz")).status).toBe(200);
  const restart = async (env: Readonly<Record<string, string>>) => {
    await node.kill();
    await node.start({ env });
  };

  /** The log has one line, however often it was tried; probes and metrics show it. */
  async function isSaid(words: readonly string[]): Promise<void> {
    await node.isUnready(CANNOT, ...words);
    await vi.waitFor(async () => expect(await node.metric(ERRORS)).toBeGreaterThanOrEqual(3), WITHIN);
    expect(await node.metric("bridge_marker_pending_seconds")).toBeGreaterThan(0);
    expect(node.logged("error", CANNOT)).toEqual([expect.stringContaining(words[0] ?? "")]);
    await isAlive();
  }

  async function isOver(...bridges: readonly string[]): Promise<void> {
    await node.publishes(...bridges);
    await node.isReady();
    expect(node.logged("info", `the bridges of Node ${node.name} are published again`)).toHaveLength(1);
  }

  it("says once that it lacks the right, tries on, and goes on when it has it again", async () => {
    const role = markerRole() as KubeObject & { readonly rules: readonly { readonly resources?: readonly string[] }[] };
    const setRules = (rules: readonly object[]) =>
      admin.patch(RESOURCES.clusterRoles, { name: ROLE }, { type: "merge", body: { rules } });
    await setRules(role.rules.filter(({ resources = [] }) => !resources.includes("nodes/status")));
    await eventually("the right to be gone", async () => {
      await node.setCapacity({ [key("br1")]: null });
      return node.logged("error", CANNOT).length > 0;
    });
    await isSaid(["cannot patch resource", `Restore the ClusterRole ${ROLE}`]);
    await setRules(role.rules);
    await isOver("br1");
  });

  it("says once that a policy refuses its patch", async () => {
    const policy = denyingPolicy({
      name: "no-node-status",
      labels: {},
      matches: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["nodes/status"], operations: ["UPDATE"] }],
      conditions: [{ name: "is-the-marker", expression: `request.userInfo.username == '${USER}'` }],
      validations: [{ expression: "false", message: "Nodes are ours" }],
    });
    for (const object of policy) await createAny(admin, object);
    await eventually("the policy to be enforced", async () => {
      await node.setCapacity({ [key("br1")]: null });
      return node.logged("error", CANNOT).length > 0;
    });
    await isSaid(["Nodes are ours", "change the admission policy"]);
    const ref = { name: "no-node-status" };
    await admin.delete(RESOURCES.validatingAdmissionPolicyBindings, ref);
    await admin.delete(RESOURCES.validatingAdmissionPolicies, ref);
    await isOver("br1");
  });

  it("publishes on a node that was deleted and registered anew under its name", async () => {
    await node.unregister();
    await node.isUnready(`Node ${node.name} does not exist`);
    await ip("add", "br2", "type", "bridge");
    await node.register();
    await node.publishes("br1", "br2");
    await node.isReady();
    await isAlive();
  });

  it("publishes what changed while the API server was away", async () => {
    await harness.controlPlane.killApiServer();
    await ip("add", "br2", "type", "bridge");
    await ip("del", "br1");
    await node.isUnready(CANNOT, "Look at the API server");
    await sleep(AWAY_SECONDS * 1000);
    await isAlive();
    expect(node.logged("error", CANNOT).length).toBeLessThanOrEqual(KINDS_OF_SILENCE);
    await harness.controlPlane.restartApiServer();
    await isOver("br2");
  });

  it.each([
    ["publishes again what a restore of etcd took back, also where new versions have overtaken the lost ones", 0],
    [
      "ends after a restore of etcd to older versions, and publishes what that took back when it is started anew",
      LOST_WRITES,
    ],
  ])("%s", async (_name, lostWrites) => {
    await node.kill();
    await node.start({ restarts: true });
    const { pid } = node.marker;
    const reported = async () => (await admin.get(NODE_MACS as Resource<NodeMACs>, { name: node.name })).bridges;
    await eventually("the report of br1", async () => (await reported())?.length === 1);
    await harness.controlPlane.saveEtcd();
    await ip("add", "br2", "type", "bridge");
    await node.publishes("br1", "br2");
    await eventually("the report of br2", async () => (await reported())?.length === 2);
    for (let write = 0; write < lostWrites; write++) await node.setCapacity({ "example.com/lost": String(write) });
    await harness.controlPlane.restoreEtcd();
    await node.publishes("br1", "br2");
    await eventually("the report of br2 again", async () => (await reported())?.length === 2);
    // Without lost writes it depends on who writes first whether anything older is ever seen.
    const ends = node.logged("error", "as after a restore of etcd").length;
    expect(ends).toBeLessThanOrEqual(1);
    expect(ends).toBeGreaterThanOrEqual(lostWrites > 0 ? 1 : 0);
    expect(node.marker.pid !== pid).toBe(ends > 0);
    await node.isReady();
  });

  it("is to be restarted while the list of links is never complete", async () => {
    const { command, say } = await scriptedMonitor(harness.controlPlane.directory);
    await say("!beat 100", seenLink(2, "br1", "bridge", ""));
    await restart({ LINK_MONITOR: command, MAX_UNSYNCED_SECONDS: "2" });
    await node.isUnready("its list of links is not complete");
    await node.isDead("the list of links is not complete");
    expect(await node.metric("bridge_marker_link_monitor_starts_total")).toBe(1);
    await say({ event: "synced" });
    await node.isAlive();
    await node.publishes("br1");
  });

  it("is to be restarted while the API server hangs, also if nothing waits to be published", async () => {
    await restart({ MAX_UNANSWERED_SECONDS: "5" });
    await node.isReady();
    const isTold = async () => {
      await node.setCapacity({ [key("br1")]: "0" });
      await node.publishes("br1");
    };
    await isTold();
    await isAlive();
    harness.controlPlane.pauseApiServer();
    await node.isDead("the API server does not answer");
    expect((await node.probe("readyz")).status).toBe(200);
    harness.controlPlane.resumeApiServer();
    await isTold();
    await node.isAlive();
  });

  it("is right after a kill at each of its writes: before it, while it is tried, and after it", async () => {
    const changes: readonly (readonly [change: readonly string[], bridges: readonly string[]])[] = [
      [
        ["add", "br2", "type", "bridge"],
        ["br1", "br2"],
      ],
      [
        ["set", "br2", "name", "br3"],
        ["br1", "br3"],
      ],
      [["del", "br3"], ["br1"]],
    ];
    for (const [change, bridges] of changes) {
      await ip(...change);
      await node.kill();
      await node.start();
      await node.publishes(...bridges);
    }
    for (const [change, bridges] of changes) {
      await node.isReady();
      await harness.controlPlane.killApiServer();
      await ip(...change);
      await node.isUnready(CANNOT);
      await node.kill();
      await harness.controlPlane.restartApiServer();
      await node.start();
      await node.publishes(...bridges);
      await node.isReady();
    }
    for (const [change, bridges] of changes) {
      await ip(...change);
      await node.publishes(...bridges);
      await node.kill();
      await node.start();
      await node.isReady();
      await node.publishes(...bridges);
      expect(await node.metrics()).not.toContain(SUCCESSES);
    }
  });

  it("ends a storm of link events with the truth, in few writes", async () => {
    const storm = await linkStorm(node.namespace);
    await node.publishes("br1", ...storm.bridges);
    const before = await node.metric(SUCCESSES);
    const [startedAt, cpuMs] = [performance.now(), node.cpuMs];
    const events = await storm.rage(STORM_SECONDS);
    const usedMs = node.cpuMs - cpuMs;
    await ip("del", "s9");
    await node.publishes("br1", ...storm.bridges.slice(0, 9));
    const seconds = (performance.now() - startedAt) / 1000;
    const patches = (await node.metric(SUCCESSES)) - before;
    const lags = await node.metric("bridge_marker_event_lag_seconds_count");
    console.log(
      `${Math.round(events)} link events a second for ${STORM_SECONDS} s: ${(patches / seconds).toFixed(1)} patches and ` +
        `${(usedMs / seconds).toFixed(0)} ms of CPU time a second, ${lags} lags`,
    );
    if (process.env.MARKER_STORM_SECONDS !== undefined) expect(events).toBeGreaterThanOrEqual(EVENTS_PER_SECOND);
    expect(patches).toBeLessThanOrEqual(1 + PATCHES_PER_SECOND * seconds);
    expect(lags).toBeGreaterThanOrEqual(patches);
    expect(await node.metric("bridge_marker_link_monitor_starts_total")).toBe(1);
  });
});
