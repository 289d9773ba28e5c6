import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_IMAGE, IMAGE_NODE } from "../../src/api/image.ts";
import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from "../../src/api/kinds.ts";
import {
  BRIDGE_MARKER,
  DEFAULT_MAC_POOL,
  DEFAULT_NAMESPACE,
  DEFAULT_NETWORK_ANNOTATION,
  FORMER_FINALIZER,
  LINUX_BRIDGE_WEBHOOK,
  MAC_POOL_CERT_MANAGER,
  NETWORK_ADDONS_CONFIG_NAME,
  NETWORKS_ANNOTATION,
  POD_WEBHOOK,
} from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { MANAGER_ACCOUNT } from "../../src/operator/components/kube-mac-pool-access.ts";
import { COMPONENTS, renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { EVERY_FACT } from "../../src/operator/watch/facts.ts";
import type { AuditLog } from "../support/audit-log.ts";
import { type Asked, askedIn, auditAccounts, cells, grantedBy, refused } from "../support/audited-rights.ts";
import { eventually } from "../support/eventually.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { CLAIMS, CONFIGS, POOLS } from "./demo/demo-cluster.ts";
import { attachmentDefinition, NAD_NAME, NAMESPACE, networkAddonsConfig, virtualMachine } from "./demo/objects.ts";
import { workloads } from "./demo/workloads.ts";
import { installKubevirt } from "./kubevirt/install.ts";
import type { VirtualMachine, VirtualMachineInstance } from "./kubevirt/virtual-machine.ts";
import * as product from "./product.ts";
import { makeRunDirectory } from "./run-directory.ts";
import { testPod } from "./test-pods.ts";
import { macOf } from "./upgrade/admissions.ts";

const ACCOUNTS = [MANAGER_ACCOUNT, MAC_POOL_CERT_MANAGER, LINUX_BRIDGE_WEBHOOK, BRIDGE_MARKER, "linux-bridge"];
const MACHINES = VIRTUAL_MACHINES as Resource<VirtualMachine & KubeObject>;
const INSTANCES = VIRTUAL_MACHINE_INSTANCES as Resource<VirtualMachineInstance & KubeObject>;
/** So few that they are soon all given away. */
const RANGE = { rangeStart: "02:5d:1c:00:00:00", rangeEnd: "02:5d:1c:00:00:03" };
const ADDRESSES = 4;
const MISSING = "no-such-network";
/** The pool serves pods where their namespace asks for it. */
const PODS = "pods";
const LIMIT = { limitMs: 60_000 };
/** Rights that this test cannot see in use, with what fails without them. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  [`${MANAGER_ACCOUNT}: patch events.events.k8s.io`]:
    "written when an event repeats after half a minute: test/kube/events",
  [`${MAC_POOL_CERT_MANAGER}: delete secrets`]: "a Secret that is immutable: test/certs",
  [`${MANAGER_ACCOUNT}: get namespaces`]: "asked for one that the watch has not delivered yet: test/mac-pool/admission",
  [`${MANAGER_ACCOUNT}: list nodes`]: "once somebody asks for networks: test/cluster/guide, test/mac-pool/inspection",
  [`${MANAGER_ACCOUNT}: watch nodes`]: "the same",
};

/** Reads metrics as an account without rights: each server asks who it is and what it may. */
const SCRAPE = `
  const token = require("fs").readFileSync("/var/run/secrets/kubernetes.io/serviceaccount/token", "utf8");
  for (const address of process.argv.slice(1)) {
    const options = { headers: { authorization: "Bearer " + token }, rejectUnauthorized: false, agent: false };
    require("https").get("https://" + address + "/metrics", options, (answer) => {
      console.log(address, answer.statusCode);
      answer.resume();
    });
  }`;

/** One story: the tests follow each other on one cluster. */
describe("the rights of the components", { timeout: 300_000 }, () => {
  let cluster: Cluster;
  let client: KubeClient;
  let kubevirt: AsyncDisposable;
  let directory: string;
  let audit: AuditLog;
  let asked: readonly Asked[];

  beforeAll(async () => {
    directory = await makeRunDirectory();
    audit = await auditAccounts(directory, DEFAULT_NAMESPACE, ACCOUNTS);
    const { apiServerArguments } = audit;
    cluster = await startCluster({
      nodes: [{ name: "node-a", bridges: ["br1"] }],
      controlPlane: { apiServerArguments },
    });
    client = await cluster.client();
    kubevirt = await installKubevirt(cluster.kubeconfig);
    await client.create(RESOURCES.namespaces, { metadata: { name: PODS, labels: { [POD_WEBHOOK]: "allocate" } } });
    await product.install(cluster);
    await apply(networkAddonsConfig({ linuxBridge: {}, kubeMacPool: RANGE }));
    await product.available(client);
  }, 300_000);
  afterAll(async () => {
    await kubevirt?.[Symbol.asyncDispose]();
    await client?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  const kubectl = (...args: readonly string[]) => product.kubectl(cluster, ...args);

  const apply = (...objects: readonly object[]) => product.apply(cluster, ...objects);

  const ref = (name: string) => ({ name, namespace: NAMESPACE });
  const isGone = async (kind: Resource, name: string): Promise<boolean> =>
    (await client.list(kind, { namespace: NAMESPACE })).items.every(({ metadata }) => metadata.name !== name);

  /** Halted, with other fields of its metadata. */
  function create(name: string, metadata: object = {}, macAddress?: string, network = NAD_NAME) {
    const text = JSON.stringify(virtualMachine(name, { macAddress })).replaceAll(NAD_NAME, network);
    const machine = JSON.parse(text) as VirtualMachine & KubeObject;
    const halted = { ...machine, spec: { ...machine.spec, runStrategy: "Halted" } };
    return client.create(MACHINES, { ...halted, metadata: { ...machine.metadata, ...metadata } } as typeof machine);
  }

  /** Creates VMs until one is refused. */
  async function fillPool(): Promise<void> {
    for (let count = 0; ; count++) {
      const refusal = await create(`more-${count}`).then(
        () => undefined,
        (error: Error) => error.message,
      );
      if (refusal === undefined) continue;
      expect(refusal).toContain("is full");
      return;
    }
  }

  const reasons = async (): Promise<(string | undefined)[]> =>
    (await client.list(RESOURCES.events, { namespace: "default" })).items.map(({ reason }) => reason);

  /** Addresses of all metrics of the product. */
  async function metrics(): Promise<string[]> {
    const { items } = await client.list(RESOURCES.pods, { namespace: DEFAULT_NAMESPACE });
    return items.flatMap(({ spec, status }) => {
      const variables = spec?.containers[0]?.env ?? [];
      const port = variables.find(({ name }) => name === "METRICS_PORT" || name === "INSPECTION_PORT")?.value;
      return port === undefined ? [] : [`${status?.podIP}:${port}`];
    });
  }

  it("suffice to give a VM its address and its bridge, and to refuse another one that address", async () => {
    await apply(attachmentDefinition(), virtualMachine("web"));
    await eventually(
      "the VM to run",
      async () => (await client.get(INSTANCES, ref("web"))).status?.phase === "Running",
      LIMIT,
    );
    const mac = macOf(await client.get(MACHINES, ref("web")));
    await expect(create("thief", {}, mac)).rejects.toThrow("is in use by");
  });

  it("suffice to answer those who read metrics", async () => {
    const addresses = await metrics();
    expect(addresses).toHaveLength(6);
    const container = { image: DEFAULT_IMAGE, command: [IMAGE_NODE], args: ["-e", SCRAPE, ...addresses] };
    await apply(testPod({ name: "scraper", container, spec: { restartPolicy: "Never" } }));
    await eventually(
      "the answers",
      async () => (await client.get(RESOURCES.pods, ref("scraper"))).status?.phase === "Succeeded",
      LIMIT,
    );
    const answers = (await kubectl("logs", "scraper")).trim().split("\n").sort();
    expect(answers).toEqual(addresses.map((address) => `${address} 403`).sort());
  });

  it("suffice to follow what comes, changes and goes", async () => {
    const body = { spec: { quarantineSeconds: 1, conflictScope: "Network" } };
    const { metadata } = await client.patch(POOLS, { name: DEFAULT_MAC_POOL }, { type: "merge", body });
    const seen = async () => (await client.get(POOLS, { name: DEFAULT_MAC_POOL })).status?.observedGeneration;
    await expect.poll(seen).toBe(metadata.generation);

    await create("former", { finalizers: [FORMER_FINALIZER] });
    await client.delete(MACHINES, ref("former"));
    await eventually("the former finalizer to go", () => isGone(MACHINES, "former"), LIMIT);

    await create("lost", {}, undefined, MISSING);
    // It is scheduled nowhere: its address is its claim's matter alone.
    const annotations = { [NETWORKS_ANNOTATION]: `${NAMESPACE}/${NAD_NAME}` };
    const passing = {
      metadata: { name: "passing", namespace: PODS, annotations },
      spec: { nodeSelector: { no: "node" }, containers: [{ name: "main", image: DEFAULT_IMAGE }] },
    };
    await apply(testPod({ name: "lost", annotations: { [DEFAULT_NETWORK_ANNOTATION]: MISSING } })).catch(() => {});
    await client.create(RESOURCES.pods, passing as Pod);
    await fillPool();
    await expect.poll(reasons).toContain("RangeFull");
    const claims = async () => (await client.list(CLAIMS)).items.length;
    expect(await claims()).toBe(ADDRESSES);
    await kubectl("delete", "pod", "lost", "--ignore-not-found", "--grace-period=1");
    await client.delete(RESOURCES.pods, { name: "passing", namespace: PODS });
    await client.delete(MACHINES, ref("lost"));
    await expect.poll(claims).toBe(ADDRESSES - 2);
  });

  it("suffice to say what stays on a node, and to go", async () => {
    await client.patch(
      CONFIGS,
      { name: NETWORK_ADDONS_CONFIG_NAME },
      { type: "merge", body: { spec: { linuxBridge: null } } },
    );
    await expect.poll(reasons, { timeout: LIMIT.limitMs }).toContain("PluginsStay");
    await kubectl("delete", "networkaddonsconfig", NETWORK_ADDONS_CONFIG_NAME, "--timeout=60s");
    expect(await workloads(client)).toEqual([]);
    asked = (await audit.next()).map(askedIn);
    expect(refused(asked)).toEqual([]);
  });

  it("are used, each of them", () => {
    const facts = { ...EVERY_FACT, securityContextConstraints: false };
    const everything = renderEverything(DEFAULT_SETTINGS, COMPONENTS, facts);
    const granted = grantedBy(everything).filter(({ account }) => ACCOUNTS.includes(account));
    expect(new Set(granted.map(({ account }) => account)).size).toBe(ACCOUNTS.length);
    const found = [...cells(granted, asked)];
    expect(found.length).toBeGreaterThan(60);
    expect(found.filter(([cell, used]) => !used && !(cell in ELSEWHERE)).map(([cell]) => cell)).toEqual([]);
  });
});
