import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { freePort } from "../support/free-port.ts";
import { ConfigKind } from "../support/network-addons-config.ts";
import { ProductProcess } from "../support/product-process.ts";
import { NetworkNamespace } from "./network-namespace.ts";

const WITHIN = { timeout: 20_000, interval: 50 };
const MONITOR = join(
  import.meta.dirname,
  "../../dist/cni",
  process.arch === "x64" ? "amd64" : process.arch,
  "link-monitor",
);
const MOUNTED = "/run/secrets/kubernetes.io/serviceaccount";
const USER = "bridge-marker";
const key = (bridge: string): string => `bridge.network.kubevirt.io/${bridge}`;

describe("the bridge marker on a real kernel and a real API server", () => {
  let controlPlane: ControlPlane;
  let admin: KubeClient;
  let config: ConfigKind;
  let kubeconfig: string;
  let namespace: NetworkNamespace;
  let monitor: string;
  let node: string;
  let marker: ProductProcess;
  let healthPort: number;
  let count = 0;

  beforeAll(async () => {
    controlPlane = await startControlPlane();
    admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    await grant();
    config = new ConfigKind(admin);
    await config.install();
    kubeconfig = join(controlPlane.directory, "marker.kubeconfig");
    await writeFile(kubeconfig, await controlPlane.userKubeconfig(USER));
  });
  afterAll(async () => {
    await admin?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    namespace = await NetworkNamespace.create();
    monitor = await namespace.wrapper(MONITOR);
    node = `node-${count++}`;
    await admin.create(RESOURCES.nodes, { metadata: { name: node } });
    await setCapacity({ cpu: "4", "example.com/gpu": "2" });
    await config.create({ linuxBridge: {} });
    await namespace.run("ip", "link", "add", "br1", "type", "bridge");
    healthPort = await freePort();
    marker = await startMarker();
  });
  afterEach(async () => {
    await marker[Symbol.asyncDispose]();
    await namespace[Symbol.asyncDispose]();
    await admin.delete(RESOURCES.nodes, { name: node });
    await config.remove();
  });

  /** The rights of the ClusterRole bridge-marker-cr. */
  async function grant(): Promise<void> {
    const group = "rbac.authorization.k8s.io";
    await admin.create(RESOURCES.clusterRoles, {
      metadata: { name: USER },
      rules: [
        { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch"] },
        { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] },
        {
          apiGroups: [NETWORK_ADDONS_CONFIGS.group],
          resources: [NETWORK_ADDONS_CONFIGS.plural],
          resourceNames: ["cluster"],
          verbs: ["get"],
        },
      ],
    });
    await admin.create(RESOURCES.clusterRoleBindings, {
      metadata: { name: USER },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: USER },
      subjects: [{ apiGroup: group, kind: "User", name: USER }],
    });
  }

  function startMarker(): Promise<ProductProcess> {
    return ProductProcess.start({
      product: "bridge-marker",
      args: ["-node-name", node, "-health-probe-port", String(healthPort)],
      env: { KUBECONFIG: kubeconfig, LINK_MONITOR: monitor },
    });
  }

  async function setCapacity(capacity: Record<string, string | null>): Promise<void> {
    const patch = { type: "merge", body: { status: { capacity } } } as const;
    await admin.patch(RESOURCES.nodes, { name: node }, patch, { subresource: "status" });
  }

  const capacity = async (): Promise<Record<string, string>> =>
    (await admin.get(RESOURCES.nodes, { name: node })).status?.capacity ?? {};

  async function published(expected: Record<string, string>): Promise<void> {
    await vi.waitFor(async () => {
      expect(await capacity()).toEqual({ cpu: "4", "example.com/gpu": "2", ...expected });
    }, WITHIN);
  }

  async function ready(): Promise<boolean> {
    return (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status === 200;
  }

  it("publishes the bridges that are there, and is ready only then", async () => {
    await published({ [key("br1")]: "1k" });
    await vi.waitFor(async () => expect(await ready()).toBe(true), WITHIN);
  });

  it("publishes a bridge that is made, follows its new name, and takes back one that is gone", async () => {
    await published({ [key("br1")]: "1k" });
    const startedAt = performance.now();
    await namespace.run("ip", "link", "add", "br2", "type", "bridge");
    await published({ [key("br1")]: "1k", [key("br2")]: "1k" });
    console.log(`published ${Math.round(performance.now() - startedAt)} ms after ip link add`);
    await namespace.run("ip", "link", "set", "br2", "name", "br3");
    await published({ [key("br1")]: "1k", [key("br3")]: "1k" });
    await namespace.run("ip", "link", "del", "br1");
    await published({ [key("br3")]: "1k" });
  });

  it("repairs what somebody else does to its keys and leaves all others alone", async () => {
    await published({ [key("br1")]: "1k" });
    await setCapacity({ [key("br1")]: "0", [key("ghost")]: "1k" });
    await published({ [key("br1")]: "1k" });
    await setCapacity({ [key("br1")]: null });
    await published({ [key("br1")]: "1k" });
  });

  it("starts a link monitor that died again and misses nothing", async () => {
    await published({ [key("br1")]: "1k" });
    const children = readFileSync(`/proc/${marker.pid}/task/${marker.pid}/children`, "utf8").trim().split(" ");
    for (const child of children) process.kill(Number(child), "SIGKILL");
    await namespace.run("ip", "link", "add", "br2", "type", "bridge");
    await namespace.run("ip", "link", "del", "br1");
    await published({ [key("br2")]: "1k" });
  });

  it("ends a storm of link events with the truth, in few writes", async () => {
    await published({ [key("br1")]: "1k" });
    const lines = Array.from({ length: 60 }, (_, index) => `link add s${index} type bridge`);
    const removals = Array.from({ length: 59 }, (_, index) => `link del s${index}`);
    const script = [...lines, ...removals].join("\n");
    const startedAt = performance.now();
    await namespace.run("sh", "-c", `printf '%s' '${script}' | ip -b -`);
    await published({ [key("br1")]: "1k", [key("s59")]: "1k" });
    const elapsedMs = performance.now() - startedAt;
    const metrics = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
    const patches = Number(/bridge_marker_patches_total\{result="success"\} (\d+)/.exec(metrics)?.[1]);
    expect(patches).toBeLessThanOrEqual(3 + elapsedMs / 200);
    expect(metrics).toContain('workqueue_adds_total{name="bridge-marker"}');
    expect(metrics).toContain('informer_objects{resource="nodes"} 1');
  });

  it("keeps the keys when it is restarted", async () => {
    await published({ [key("br1")]: "1k" });
    expect(await marker.stop()).toBe(0);
    await published({ [key("br1")]: "1k" });
    expect(marker.log).toContain("linuxBridge is still in the NetworkAddonsConfig");
  });

  it("removes its keys when the component was taken out of the configuration", async () => {
    await published({ [key("br1")]: "1k" });
    await config.setSpec({ linuxBridge: null });
    expect(await marker.stop()).toBe(0);
    await published({});
  });

  it("removes its keys when the configuration is being deleted, and when it is gone", async () => {
    await published({ [key("br1")]: "1k" });
    await config.beginDeletion();
    await marker.stop();
    await published({});
    await marker[Symbol.asyncDispose]();
    marker = await startMarker();
    await published({ [key("br1")]: "1k" });
    await config.remove();
    await marker.stop();
    await published({});
  });

  it("keeps the keys when the API server can't be asked", async () => {
    await published({ [key("br1")]: "1k" });
    await controlPlane.killApiServer();
    await marker.stop();
    expect(marker.log).toContain("the NetworkAddonsConfig could not be read");
    await controlPlane.restartApiServer();
    await published({ [key("br1")]: "1k" });
  });

  it("fits in a small pod, with the credentials of a service account", async () => {
    await marker.stop();
    await marker[Symbol.asyncDispose]();
    const files = await serviceAccountFiles();
    const mount = `mount -t tmpfs tmpfs /run && mkdir -p ${MOUNTED} && cp ${files}/* ${MOUNTED} && exec "$@"`;
    const rootless = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
    const { hostname, port } = new URL(controlPlane.url);
    marker = await ProductProcess.start({
      product: "bridge-marker",
      prefix: ["unshare", ...rootless, "--mount", "sh", "-c", mount, "sh"],
      args: ["-node-name", node, "-health-probe-port", String(healthPort)],
      env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, LINK_MONITOR: MONITOR },
    });
    await vi.waitFor(async () => expect(await ready()).toBe(true), WITHIN);
    const status = readFileSync(`/proc/${marker.pid}/status`, "utf8");
    const [resident, anonymous] = [/VmRSS:\s+(\d+)/, /RssAnon:\s+(\d+)/].map((field) =>
      Number(field.exec(status)?.[1]),
    );
    console.log(`bridge-marker: ${resident} kB resident, ${anonymous} kB of it its own`);
    expect(resident).toBeLessThan(120_000);
  });

  /** A directory with the files that a pod finds under its service account. */
  async function serviceAccountFiles(): Promise<string> {
    const ref = { namespace: "default", name: USER };
    await admin.create(RESOURCES.serviceAccounts, { metadata: ref });
    await admin.patch(
      RESOURCES.clusterRoleBindings,
      { name: USER },
      {
        type: "json",
        ops: [{ op: "add", path: "/subjects/-", value: { kind: "ServiceAccount", ...ref } }],
      },
    );
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const answer = await admin.createSubresource(RESOURCES.serviceAccounts, ref, "token", request);
    const { token } = (answer as unknown as { status: { token: string } }).status;
    const directory = join(controlPlane.directory, "service-account");
    await mkdir(directory);
    await writeFile(join(directory, "token"), token);
    await writeFile(join(directory, "ca.crt"), controlPlane.authority.certificate);
    await writeFile(join(directory, "namespace"), "default");
    return directory;
  }
});
