import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { type Clock, systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { StrandedPods } from "../../../src/operator/status/stranded-pods.ts";
import { WarningEvents } from "../../../src/operator/status/warning-events.ts";
import { adminClient } from "../../kube/support/real-api-server.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";

const DEADLINE_MS = 300_000;
const SIGN = "CmdAdd (shim)";
const SANDBOX = "0123456789abcdef".repeat(4);

/** One story: each test adds pods to those before. */
describe("pods that get no sandbox because multus refuses", () => {
  let controlPlane: Awaited<ReturnType<typeof borrowControlPlane>>;
  let client: KubeClient;

  beforeAll(async () => {
    controlPlane = await borrowControlPlane();
    client = await adminClient(controlPlane);
    await client
      .create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: "default" } })
      .catch(() => {});
  });
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  async function pod(name: string, annotations: Record<string, string> = {}): Promise<string> {
    const made = await client.create(RESOURCES.pods, {
      metadata: { name, namespace: "default", annotations },
      spec: { nodeName: "node-a", automountServiceAccountToken: false, containers: [{ name: "c", image: "none" }] },
    });
    return made.metadata.uid ?? "";
  }
  async function refused(name: string, uid: string, said: string): Promise<void> {
    await client.create(RESOURCES.events, {
      metadata: { generateName: `${name}-`, namespace: "default" },
      ...{ type: "Warning", reason: "FailedCreatePodSandBox", action: "Create", note: said },
      ...{ eventTime: new Date().toISOString().replace("Z", "000Z") },
      ...{ reportingController: "kubelet", reportingInstance: "node-a" },
      regarding: { kind: "Pod", namespace: "default", name, uid },
    });
  }
  /** As an operator sees it that looks for the first time, when the pods have waited for `ageMs`. */
  const check = (ageMs: number) => {
    const clock: Clock = { ...systemClock, now: () => Date.now() + ageMs };
    const events = new WarningEvents({ client, clock, log: silentLog, maxAgeMs: DEADLINE_MS });
    const stranded = new StrandedPods({ client, events, clock, log: silentLog, deadlineMs: DEADLINE_MS });
    return stranded.rolloutOf("multus", SIGN, new AbortController().signal);
  };

  it("are none while nobody is refused, or by somebody else, or for a short time", async () => {
    await refused("calm", await pod("calm"), 'plugin type="ptp" failed (add): no address');
    expect(await check(DEADLINE_MS)).toMatchObject({ phase: "ready" });
    await refused("early", await pod("early"), `${SIGN}: early`);
    expect(await check(0)).toMatchObject({ phase: "ready", recheckAfterMs: DEADLINE_MS / 5 });
  });

  it("say nothing when they ask for networks, or are gone", async () => {
    await client.delete(RESOURCES.pods, { name: "early", namespace: "default" }, { gracePeriodSeconds: 0 });
    const uid = await pod("asks", { "k8s.v1.cni.cncf.io/networks": "no-such-network" });
    await refused("asks", uid, `${SIGN}: cannot find a network-attachment-definition`);
    expect(await check(DEADLINE_MS)).toMatchObject({ phase: "ready" });
  });

  it("are told with their node and the end of the text, in which each try has a sandbox of its own", async () => {
    const long = `${"ContainerID:x ".repeat(40)}failed to find plugin "ptp" in path [/run/a]`;
    const appended = `\n': StdinData: {"binDir":"/opt/cni/bin","type":"multus-shim"}`;
    await refused("waits", await pod("waits"), `sandbox "${SANDBOX}": ${SIGN}: ${SANDBOX} ${long}${appended}`);
    // The API server's cache follows its answers.
    await expect
      .poll(() => check(DEADLINE_MS))
      .toMatchObject({
        phase: "failing",
        reason: "FailedCreatePodSandBox",
        message: expect.stringMatching(
          /^multus runs on node-a and .* pod default\/waits: CmdAdd \(shim\) .*in path \[\/run\/a\]$/,
        ),
      });
    expect(JSON.stringify(await check(DEADLINE_MS))).not.toContain(SANDBOX);
  });
});
