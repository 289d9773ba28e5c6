import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../../src/api/names.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { eventually } from "../support/eventually.ts";
import { type Cluster, MULTUS_IMAGE, startCluster } from "./cluster.ts";
import { CONFIGS } from "./demo/demo-cluster.ts";
import { networkAddonsConfig } from "./demo/objects.ts";
import * as product from "./product.ts";
import { testPod } from "./test-pods.ts";

const NAMESPACE = DEFAULT_NAMESPACE;
const NODE = "node-a";
const CNI_BIN_DIR = "/opt/cni/bin";
const OTHER_DIR = "/var/lib/cni/bin";
const FIRST_NETWORK = "/etc/cni/net.d/10-first.conflist";
const CONFIG = "/etc/cni/net.d/00-multus.conf";
const REFUSES = "/run/multus-refuses";
/** A pod that has no sandbox for longer costs the former directories: a busy machine must not take that long. */
const DEADLINE_SECONDS = 20;
const LIMIT = { limitMs: 180_000 };

/** kubectl's arguments in the first block of commands below a heading. */
async function commandsOf(file: string, heading: string): Promise<string[][]> {
  const text = await readFile(file, "utf8");
  const block = /```\w*\n([\s\S]*?)```/.exec(text.slice(text.indexOf(`## ${heading}\n`)))?.[1] ?? "";
  const lines = block.trim().split("\n");
  return lines.map((line) =>
    [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word = ""]) => quoted ?? word).slice(1),
  );
}

/** One story: the tests follow each other on one cluster, with multus' stand-in as its own project builds it. */
describe("multus, deployed by the operator", { timeout: 300_000 }, () => {
  let cluster: Cluster;
  let client: KubeClient;

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{ name: NODE }] });
    client = await cluster.client();
    await onNode(`echo '{"name": "first", "plugins": [{"type": "ptp"}]}' > ${FIRST_NETWORK}`);
    await onNode(`printf '#!/bin/sh\\n' > ${CNI_BIN_DIR}/ptp && chmod +x ${CNI_BIN_DIR}/ptp`);
    await product.install(cluster);
    const operator = ["-n", NAMESPACE, `deployment/${OPERATOR_NAME}`];
    await kubectl(
      ...["set", "env", ...operator],
      ...[`MULTUS_IMAGE=${MULTUS_IMAGE}`, `POD_TROUBLE_DEADLINE_SECONDS=${DEADLINE_SECONDS}`],
    );
    await kubectl("rollout", "status", "--timeout=60s", ...operator);
    await configure({ multus: {} });
    await available();
  }, 300_000);
  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const kubectl = (...args: readonly string[]) => product.kubectl(cluster, ...args);
  const onNode = async (script: string): Promise<string> => (await cluster.mustExec(NODE, ["sh", "-c", script])).trim();
  const apply = (...objects: readonly object[]) => product.apply(cluster, ...objects);
  const configure = (spec: Parameters<typeof networkAddonsConfig>[0]) => apply(networkAddonsConfig(spec));
  const config = () => client.get(CONFIGS, { name: "cluster" });
  const row = async () => (await config()).status?.components?.find(({ name }) => name === "multus");
  const available = () => product.available(client);
  const started = (name: string) => kubectl("wait", "--for=condition=Ready", "--timeout=60s", `pod/${name}`);
  const filesOfMultus = async (): Promise<string[]> =>
    (await onNode(`ls -d ${CONFIG} ${CNI_BIN_DIR}/* ${OTHER_DIR}/* 2>/dev/null || true`))
      .split("\n")
      .filter((path) => /multus|passthru/.test(path));

  it("gives a pod its networks, and is ready because its daemon answers", async () => {
    await apply(testPod({ name: "first" }));
    await started("first");
    expect(await filesOfMultus()).toEqual([CONFIG, `${CNI_BIN_DIR}/multus-shim`, `${CNI_BIN_DIR}/passthru`]);
    await onNode("mv /run/multus/multus.sock /run/multus/elsewhere");
    await expect
      .poll(row, { timeout: 60_000 })
      .toMatchObject({ phase: "Degraded", message: expect.stringContaining("runs and is not ready") });
    await onNode("mv /run/multus/elsewhere /run/multus/multus.sock");
    await available();
  });

  it("starts pods also after a change of the CNI directory, in which the first network's plugins are not", async () => {
    await configure({ multus: {}, linuxBridge: { cniBinDir: OTHER_DIR } });
    await available();
    expect(await filesOfMultus()).toContain(`${OTHER_DIR}/multus-shim`);
    await apply(testPod({ name: "after-the-change" }));
    await started("after-the-change");
  });

  it("is degraded by the text with which its daemon refuses pods, and available when it does so no more", async () => {
    await onNode(`echo 'no lease for this pod' > ${REFUSES}`);
    await apply(testPod({ name: "refused" }));
    await expect.poll(row, { timeout: 90_000 }).toMatchObject({
      phase: "Degraded",
      reason: "FailedCreatePodSandBox",
      message: expect.stringMatching(
        /^multus runs on node-a .* pod default\/refused: CmdAdd \(shim\): .*no lease for this pod/,
      ),
    });
    await onNode(`rm ${REFUSES}`);
    await started("refused");
    await available();
  });

  it("lets the operator back in by the commands of the runbook when it refuses its pod, too", async () => {
    await onNode(`echo refused > ${REFUSES}`);
    const operators = () =>
      client.list(RESOURCES.pods, { namespace: NAMESPACE, labelSelector: `name=${OPERATOR_NAME}` });
    await kubectl("-n", NAMESPACE, "delete", "pod", "-l", `name=${OPERATOR_NAME}`);
    await eventually("the operator's pod to be refused", async () => {
      const events = await kubectl("-n", NAMESPACE, "get", "events.events.k8s.io", "-o", "jsonpath={.items[*].note}");
      return events.includes("CmdAdd (shim)") && (await operators()).items.length === 1;
    });
    for (const command of await commandsOf("docs/reference/runbooks.md", "Multus keeps pods from starting")) {
      await kubectl(...command.map((word) => (word === "NAMESPACE" ? NAMESPACE : word)));
    }
    await available();
    expect(await row()).toBeUndefined();
    expect(await filesOfMultus()).toEqual([]);
    await onNode(`rm ${REFUSES}`);
    await configure({ multus: {}, linuxBridge: { cniBinDir: OTHER_DIR } });
    await available();
  });

  it("leaves nothing on the node that would keep pods from starting when its daemon is killed in its removal", async () => {
    const pods = async () =>
      (await client.list(RESOURCES.pods, { namespace: NAMESPACE, labelSelector: "app=multus" })).items;
    expect(await filesOfMultus()).toContain(CONFIG);
    await configure({ linuxBridge: { cniBinDir: OTHER_DIR } });
    await eventually(
      "multus' pods to be stopping",
      async () => (await pods()).every(({ metadata }) => metadata.deletionTimestamp !== undefined),
      LIMIT,
    );
    await onNode(
      'for p in /proc/[0-9]*; do ! grep -qs "bin/[d]aemon.ts" $p/cmdline || kill -KILL $(basename $p); done',
    );
    await eventually("multus' pods to be gone", async () => (await pods()).length === 0, LIMIT);
    expect(await filesOfMultus()).toEqual([]);
    await apply(testPod({ name: "without-multus" }));
    await started("without-multus");
  });
});
