import { Registry } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import type { NadLint } from "../../src/api/nad-lint-setting.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { silentLog } from "../../src/kube/log.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../../src/kube/server/admission-server.ts";
import { RouteServer } from "../../src/kube/server/route-server.ts";
import { routeNadLint } from "../../src/linux-bridge-webhook/nad-lint-route.ts";
import { type NadReviewOptions, nadReview } from "../../src/linux-bridge-webhook/nad-review.ts";

const BR1 = { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br1" };
const GOOD = { cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1" };
const WRONG = { ...GOOD, portIsolaton: true };
const TYPING_MISTAKE =
  'NetworkAttachmentDefinition team/net: unknown key "portIsolaton" is ignored: did you mean "portIsolation"? ' +
  "The key has no effect. Correct it or remove it.";

function nad(config: object, metadata: object = {}): KubeObject {
  return {
    metadata: { name: "net", annotations: BR1, ...metadata },
    spec: { config: JSON.stringify(config) },
  } as KubeObject;
}

function request(object: KubeObject | null, oldObject: KubeObject | null = null): AdmissionRequest {
  return {
    uid: "1",
    kind: { group: "k8s.cni.cncf.io", version: "v1", kind: "NetworkAttachmentDefinition" },
    resource: { group: "k8s.cni.cncf.io", version: "v1", resource: "network-attachment-definitions" },
    operation: oldObject === null ? "CREATE" : "UPDATE",
    name: object?.metadata.name ?? "",
    namespace: "team",
    object,
    oldObject,
    dryRun: false,
    userInfo: {},
  };
}

const KNOWING_NOTHING = { nodesWith: () => undefined, bridgesOn: () => undefined, sameSegment: () => undefined };

function review(
  asked: AdmissionRequest,
  mode: "Warn" | "Enforce" = "Warn",
  known: Partial<NadReviewOptions> = {},
): AdmissionAnswer {
  return nadReview({ mode, ...KNOWING_NOTHING, ...known, onFinding: () => {} })(asked);
}

describe("the webhook of NetworkAttachmentDefinitions", () => {
  it("warns, or refuses with the same words", () => {
    expect(review(request(nad(WRONG)))).toEqual({ allowed: true, warnings: [TYPING_MISTAKE] });
    expect(review(request(nad(WRONG)), "Enforce")).toEqual({ allowed: false, message: TYPING_MISTAKE });
    expect(review(request(nad(GOOD)), "Enforce")).toEqual({ allowed: true, warnings: [] });
  });

  it("refuses a network that gives its pods an address, also one of another plugin", () => {
    const given = { ...GOOD, args: { cni: { mac: "02:5d:1c:00:00:01" } } };
    const macvlan = { type: "macvlan", master: "eth1", mac: "02:5d:1c:00:00:01" };
    for (const [config, key] of [
      [given, "args.cni.mac"],
      [macvlan, "mac"],
    ] as const) {
      const answer = review(request(nad(config), nad(GOOD)), "Enforce");
      expect(answer).toMatchObject({ allowed: false, message: expect.stringContaining(`"${key}" gives pods of this`) });
      expect(review(request(nad(config)))).toMatchObject({ allowed: true, warnings: [expect.anything()] });
    }
  });

  it("refuses nothing for what the cluster lacks today", () => {
    const known = { nodesWith: () => ({ having: [], total: 2 }), sameSegment: () => "network team/other" };
    const answer = review(request(nad(GOOD)), "Enforce", known);
    expect(answer).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining("none of 2 nodes"), expect.anything()],
    });
  });

  it("is silent about a change of something else, and about a network that is being deleted", () => {
    const labelled = nad(WRONG, { labels: { a: "b" } });
    expect(review(request(labelled, nad(WRONG)), "Enforce")).toEqual({ allowed: true });
    const deleted = nad(WRONG, { deletionTimestamp: "2026-11-21T09:14:03Z" });
    expect(review(request(deleted, nad(GOOD)), "Enforce")).toEqual({ allowed: true });
    expect(review(request(null, nad(WRONG)), "Enforce")).toEqual({ allowed: true });
  });

  it("lets a network that was wrong before be corrected step by step, and refuses a new mistake", () => {
    const twice = { ...WRONG, brigde: "br1" };
    expect(review(request(nad(WRONG), nad(twice)), "Enforce")).toMatchObject({ allowed: true });
    expect(review(request(nad(twice), nad(WRONG)), "Enforce")).toMatchObject({
      allowed: false,
      message: expect.stringMatching(/^(?!.*portIsolaton).*brigde/),
    });
    const elsewhere = { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br2" };
    expect(review(request(nad(GOOD, { annotations: elsewhere }), nad(GOOD)), "Enforce").allowed).toBe(false);
  });

  it("gives no more warnings than the API server passes on, and says how many there are", () => {
    const wrong = { wrong1: 1, wrong2: 1, wrong3: 1, wrong4: 1 };
    const plugins = Array.from({ length: 10 }, () => ({ type: "tuning", ...wrong }));
    const list = { cniVersion: "1.0.0", name: "net", plugins: [{ type: "macvlan" }, ...plugins] };
    const warned = review(request(nad(list)));
    expect(warned.warnings).toHaveLength(15);
    expect(warned.warnings?.at(-1)).toBe(
      "NetworkAttachmentDefinition team/net: 26 more: see kubectl macpool lint -f FILE.",
    );
    expect(review(request(nad(list)), "Enforce")).toMatchObject({
      message: expect.stringMatching(/ 36 more: see kubectl macpool lint -f FILE\.$/),
    });
  });

  it("leaves room for the message behind a long name", () => {
    const [warning = ""] = review(request(nad(WRONG, { name: "n".repeat(253) }))).warnings ?? [];
    expect(warning).toContain(`${"n".repeat(60)}...: unknown key`);
    const [generated = ""] = review(request(nad(WRONG, { name: undefined, generateName: "net-" }))).warnings ?? [];
    expect(generated).toContain("team/net-*: ");
  });
});

describe("the lint's route", () => {
  let server: RouteServer;

  afterEach(() => server[Symbol.asyncDispose]());

  async function served(mode: NadLint, nodesWith: NadReviewOptions["nodesWith"] = () => undefined) {
    server = new RouteServer({ port: 0, host: "127.0.0.1" });
    const metrics = new Registry();
    routeNadLint(server, { mode, ...KNOWING_NOTHING, nodesWith, metrics, log: silentLog });
    const url = `http://127.0.0.1:${await server.listen()}/lint-networks`;
    const post = async (object: KubeObject) => {
      const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: request(object) };
      const answer = await fetch(url, { method: "POST", body: JSON.stringify(review) });
      return { status: answer.status, text: await answer.text() };
    };
    return { metrics, post };
  }

  it("admits a network when the lint itself fails, and counts that", async () => {
    const { metrics, post } = await served("Enforce", () => {
      throw new Error("a defect");
    });
    expect(JSON.parse((await post(nad(WRONG))).text).response).toEqual({ uid: "1", allowed: true });
    expect(await metrics.metrics()).toContain("linux_bridge_webhook_nad_lint_failures_total 1");
  });

  it("counts findings by code", async () => {
    const { metrics, post } = await served("Warn");
    await post(nad(WRONG));
    const text = await metrics.metrics();
    expect(text).toContain('linux_bridge_webhook_nad_findings_total{code="key-ignored"} 1');
    expect(text).toContain('linux_bridge_webhook_nad_findings_total{code="plugin-refuses"} 0');
  });

  it("is not there when the lint is off", async () => {
    expect((await (await served("Off")).post(nad(WRONG))).status).toBe(404);
  });
});
