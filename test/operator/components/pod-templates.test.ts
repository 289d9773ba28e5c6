import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LABEL_NEEDS_CLUSTER_SERVICES, LABEL_SCRAPED } from "../../../src/api/names.ts";
import type { DaemonSet, Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import { isWorkload } from "../../../src/operator/apply/applied-kinds.ts";
import { renderEverything } from "../../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { release } from "../../../src/operator/release.ts";

const OWN_IMAGE = "registry.example.com/own:1";
const images = { linuxBridge: OWN_IMAGE, bridgeMarker: OWN_IMAGE, kubeMacPool: OWN_IMAGE };
const everything = [...release(OWN_IMAGE).operator, ...renderEverything({ ...DEFAULT_SETTINGS, images })];
const TEMPLATES = (everything.filter(isWorkload) as (Deployment | DaemonSet)[]).map(({ metadata, spec }) => ({
  name: metadata.name,
  replicas: (spec as Deployment["spec"])?.replicas,
  labels: spec?.template.metadata?.labels ?? {},
  pod: spec?.template.spec,
  isOwn: spec?.template.spec?.containers[0]?.image === OWN_IMAGE,
}));

describe("the pods of every workload", () => {
  it("are those of 12 workloads, six of them of the product's own image", () => {
    expect(TEMPLATES).toHaveLength(12);
    expect(TEMPLATES.filter(({ isOwn }) => isOwn)).toHaveLength(6);
  });

  it.each(TEMPLATES)("$name: have an affinity, which other software reads without a look", ({ pod }) => {
    expect(pod?.affinity).toBeInstanceOf(Object);
  });

  it.each(TEMPLATES.filter(({ pod, isOwn }) => isOwn && !pod?.hostNetwork))(
    "$name: have the labels by which network policies let them reach the API server, and Prometheus reach them",
    ({ labels }) => {
      expect(labels).toMatchObject({ [LABEL_NEEDS_CLUSTER_SERVICES]: "true", [LABEL_SCRAPED]: "true" });
    },
  );

  it("are asked every second whether they are ready while they start, and after it only where callers must not wait", () => {
    const own = TEMPLATES.filter(({ isOwn }) => isOwn);
    const asked = own.map(({ name, pod }) => {
      const { startupProbe, readinessProbe } = pod?.containers[0] ?? {};
      return [name, startupProbe?.periodSeconds, readinessProbe?.periodSeconds];
    });
    expect(asked.sort()).toEqual([
      ["bridge-marker", 1, 30],
      ["cluster-network-addons-operator", 1, 30],
      ["kube-cni-linux-bridge-plugin", 1, 30],
      ["kubemacpool-cert-manager", 1, 30],
      ["kubemacpool-mac-controller-manager", undefined, 1],
      ["linux-bridge-webhook", undefined, 1],
    ]);
  });

  it("request the memory that the page of capacity says, by the product's own processes", () => {
    const memory = (of: (replicas: number) => number): number => {
      const pods = TEMPLATES.filter(({ isOwn, replicas }) => isOwn && replicas !== undefined);
      return pods.reduce((sum, { pod, replicas = 0 }) => sum + of(replicas) * requestOf(pod), 0);
    };
    const daemons = TEMPLATES.filter(({ isOwn, replicas }) => isOwn && replicas === undefined);
    const onNode = daemons.reduce((sum, { pod }) => sum + requestOf(pod), 0);
    const page = readFileSync(join(import.meta.dirname, "../../../docs/guide/capacity.md"), "utf8");
    const rows = page.matchAll(/^\| (one node|more nodes) \| (\d+)Mi in (\d+) pods \| (\d+)Mi \|$/gm);
    expect([...rows].map(([, ...cells]) => cells)).toEqual([
      ["one node", String(memory(() => 1)), "4", String(onNode)],
      ["more nodes", String(memory((replicas) => replicas)), "6", String(onNode)],
    ]);
  });

  it("have a container `manager` in pool and certificate manager", () => {
    const names = ["kubemacpool-mac-controller-manager", "kubemacpool-cert-manager"];
    for (const name of names) {
      const containers = TEMPLATES.find((template) => template.name === name)?.pod?.containers;
      expect(containers?.map((container) => container.name)).toEqual(["manager"]);
    }
  });
});

/** Memory in Mi. */
function requestOf(pod: (typeof TEMPLATES)[number]["pod"]): number {
  const requests = (pod?.containers ?? []).map(({ resources }) => resources?.requests?.memory ?? "");
  return requests.reduce((sum, text) => sum + Number(/^(\d+)Mi$/.exec(text)?.[1]), 0);
}
