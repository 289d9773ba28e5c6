import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  FORMER_CNI_BIN_DIRS,
  type FormerCniBinDir,
  formatFormerCniBinDirs,
} from "../../src/api/former-cni-bin-dirs.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { ASK_WHO_MAY, READ_CONFIG, rule } from "../../src/operator/manifests/rbac.ts";
import { runCommand } from "../cluster/command.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { createAny } from "../support/create-any.ts";
import { freePort } from "../support/free-port.ts";
import { MetricsReader } from "../support/metrics-reader.ts";
import { ConfigKind } from "../support/network-addons-config.ts";
import { ProductProcess } from "../support/product-process.ts";
import { bindClusterRole, user } from "../support/rights.ts";

const WITHIN = { timeout: 20_000, interval: 50 };
const BUILT = join(import.meta.dirname, "../../dist/cni", process.arch === "x64" ? "amd64" : process.arch);
const USER = "linux-bridge";
const STATE = "/run/cni/cluster-network-addons";
const RECORDS = `${STATE}/attachments`;
const CNI_CONFIG = JSON.stringify({ cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" });
const INSTALLED = ["bridge", "cnv-bridge", "cnv-tuning", "tuning"];

/** Its directories of a node are its own: nothing of this machine's is looked at or touched. /var/run is no link there. */
const OWN_NODE = [
  ...["unshare", ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]), "--mount"],
  ...[
    "sh",
    "-c",
    'for one in /run /var; do mount -t tmpfs tmpfs $one; done; mkdir -p /run/netns /var/run/netns /var/lib; exec "$@"',
    "sh",
  ],
];

describe("the CNI installer with real executables and a real API server", () => {
  let controlPlane: ControlPlane;
  let admin: KubeClient;
  let config: ConfigKind;
  let kubeconfig: string;
  let directory: string;
  let installer: ProductProcess;
  let healthPort: number;
  let metricsPort: number;
  let reader: MetricsReader;

  beforeAll(async () => {
    controlPlane = await startControlPlane();
    admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    config = new ConfigKind(admin);
    await config.install();
    await grant();
    reader = await MetricsReader.create(admin);
    kubeconfig = join(controlPlane.directory, "installer.kubeconfig");
    await writeFile(kubeconfig, await controlPlane.userKubeconfig(USER));
  });
  afterAll(async () => {
    await admin?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cni-bin-"));
    await config.create({ linuxBridge: {} });
    await start();
    await vi.waitFor(async () => expect((await probe("readyz")).status).toBe(200), WITHIN);
  });
  afterEach(async () => {
    await installer[Symbol.asyncDispose]();
    await config.remove();
    await rm(directory, { recursive: true, force: true });
  });

  async function grant(): Promise<void> {
    await createAny(admin, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: USER },
      rules: [READ_CONFIG, rule("events.k8s.io", ["events"], ["create", "patch", "update"]), ...ASK_WHO_MAY],
    });
    await bindClusterRole(admin, USER, user(USER));
  }

  async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    [healthPort, metricsPort] = [await freePort(), await freePort()];
    installer = await ProductProcess.start({
      product: "linux-bridge",
      prefix: OWN_NODE,
      env: {
        KUBECONFIG: kubeconfig,
        CNI_BIN_DIR: directory,
        HEALTH_PORT: String(healthPort),
        METRICS_PORT: String(metricsPort),
        NODE_NAME: "node-a",
        ...env,
      },
    });
  }

  /** Refused while it does not listen yet, which `waitFor` takes for "not yet". */
  const probe = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${healthPort}/${path}`);
  const metrics = (): Promise<string> => reader.read(metricsPort);
  const isSeen = (name: string): boolean => !name.startsWith(".");
  const names = async (): Promise<string[]> => (await readdir(directory)).filter(isSeen).sort();

  async function isBuilt(name: string): Promise<void> {
    const executable = name.replace("cnv-", "");
    const [there, built] = await Promise.all([readFile(join(directory, name)), readFile(join(BUILT, executable))]);
    expect(there.equals(built)).toBe(true);
    expect((await stat(join(directory, name))).mode & 0o777).toBe(0o755);
  }

  it("installs executables that run, and says which in its metrics", async () => {
    for (const name of INSTALLED) await isBuilt(name);
    const version = await runCommand([join(directory, "cnv-bridge")], { env: { CNI_COMMAND: "VERSION" }, stdin: "{}" });
    expect(JSON.parse(version.stdout).supportedVersions).toContain("1.1.0");
    expect(await metrics()).toMatch(/linux_bridge_plugin_info\{name="cnv-bridge",state="installed",version="[\d.]+",/);
  });

  it("repairs a deleted, an overwritten and a disabled file", async () => {
    await rm(join(directory, "cnv-bridge"));
    await vi.waitFor(() => isBuilt("cnv-bridge"), WITHIN);
    await writeFile(join(directory, "cnv-bridge"), "#!/bin/sh\n");
    await vi.waitFor(() => isBuilt("cnv-bridge"), WITHIN);
    await chmod(join(directory, "bridge"), 0o644);
    await vi.waitFor(() => isBuilt("bridge"), WITHIN);
  });

  it("replaces the file of a plugin that is running", async () => {
    const busy = join(directory, "cnv-bridge");
    // It waits for its configuration on stdin, so its file is in use.
    const running = runCommand(["sh", "-c", `sleep 1 | CNI_COMMAND=VERSION ${busy}`]);
    await rm(busy);
    await vi.waitFor(() => isBuilt("cnv-bridge"), WITHIN);
    expect((await running).code).not.toBe(126);
  });

  it("keeps the files when it is restarted, and a successor has nothing to do", async () => {
    const before = await stat(join(directory, "cnv-bridge"));
    expect(await installer.stop()).toBe(0);
    expect(await names()).toEqual(INSTALLED);
    await installer[Symbol.asyncDispose]();
    await start();
    await vi.waitFor(async () => expect((await probe("readyz")).status).toBe(200), WITHIN);
    expect((await stat(join(directory, "cnv-bridge"))).ino).toBe(before.ino);
  });

  it("removes its files, and no other, when the component was taken out of the configuration", async () => {
    await writeFile(join(directory, "loopback"), "theirs");
    await config.setSpec({ linuxBridge: null, kubeMacPool: {} });
    expect(await installer.stop()).toBe(0);
    expect(await readdir(directory)).toEqual(["loopback"]);
  });

  it("removes its files when the configuration is being deleted, and the directories of its state", async () => {
    await vi.waitFor(() => mkdir(seen("/run/cni/tuning")), WITHIN);
    const root = await open(seen("/run"));
    try {
      await config.beginDeletion();
      expect(await installer.stop()).toBe(0);
      expect(await readdir(directory)).toEqual([]);
      expect(await readdir(`/proc/self/fd/${root.fd}/cni`)).toEqual([]);
    } finally {
      await root.close();
    }
  });

  describe("whose directory was another before", () => {
    let former: string;

    beforeEach(async () => {
      await installer.stop();
      await installer[Symbol.asyncDispose]();
      former = directory;
      directory = await mkdtemp(join(tmpdir(), "cni-bin-"));
      await writeFile(join(former, "loopback"), "theirs");
    });
    afterEach(() => rm(former, { recursive: true, force: true }));

    const startWith = (directories: readonly FormerCniBinDir[]): Promise<void> =>
      start({ [FORMER_CNI_BIN_DIRS]: formatFormerCniBinDirs(directories) });
    const isReady = () => vi.waitFor(async () => expect((await probe("readyz")).status).toBe(200), WITHIN);

    it("removes its files, and no other, from the former one when all are in the new one", async () => {
      await mkdir(join(directory, "cnv-bridge"));
      await startWith([{ directory: former, directoryOnNode: "/opt/cni/bin" }]);
      await vi.waitFor(async () => expect((await probe("readyz")).status).toBe(503), WITHIN);
      await vi.waitFor(() => isBuilt("tuning"), WITHIN);
      expect((await readdir(former)).sort()).toEqual([...INSTALLED, "loopback"].sort());
      await rm(join(directory, "cnv-bridge"), { recursive: true });
      await isReady();
      for (const name of INSTALLED) await isBuilt(name);
      expect(await readdir(former)).toEqual(["loopback"]);
    });

    it("keeps its files where another path leads to the same directory", async () => {
      await startWith([{ directory: `${directory}/../${basename(directory)}`, directoryOnNode: "/opt/cni/bin" }]);
      await isReady();
      for (const name of INSTALLED) await isBuilt(name);
    });

    it("is ready when a former one can't be cleaned", async () => {
      await startWith([{ directory: join(former, "nowhere"), directoryOnNode: "/opt/cni/bin" }]);
      await isReady();
      for (const name of INSTALLED) await isBuilt(name);
    });
  });

  const seen = (path: string): string => `/proc/${installer.pid}/root${path}`;

  /** Of an attachment whose network namespace has this path. */
  async function record(netns: string, containerId = "pod-1"): Promise<void> {
    const attachment = { plugin: "bridge", network: "br1-net", containerId, ifname: "net1", netns, config: CNI_CONFIG };
    await mkdir(seen(RECORDS), { recursive: true });
    await writeFile(seen(`${RECORDS}/${containerId}~net1~bridge.json`), JSON.stringify(attachment));
  }

  it("keeps the files, and tells so on the configuration, while attachments need them", async () => {
    await writeFile(seen("/run/netns/pod-1"), "");
    await record("/run/netns/pod-1");
    await config.beginDeletion();
    expect(await installer.stop()).toBe(0);
    expect(await names()).toEqual(INSTALLED);
    const { items } = await admin.list(RESOURCES.events, { namespace: "default" });
    const note = expect.stringContaining(`stay in ${directory} of node node-a`);
    const told = { type: "Warning", regarding: { kind: "NetworkAddonsConfig", name: "cluster" }, note };
    expect(items.filter(({ reason }) => reason === "PluginsStay")).toMatchObject([told]);
  });

  it.each([
    ["the runtime", "/var/lib/cni/results"],
    ["multus", "/var/lib/cni/multus/results"],
  ])("keeps the files while another version's attachments need them, as the cache of %s says", async (_, results) => {
    const attachment = { containerId: "pod-1", ifName: "net1", networkName: "br1-net", netns: "/run/netns/pod-1" };
    const network = Buffer.from('{"type":"cnv-bridge","name":"br1-net"}').toString("base64");
    const cached = { kind: "cniCacheV1", ...attachment, config: network };
    await mkdir(seen(results), { recursive: true });
    await writeFile(seen("/run/netns/pod-1"), "");
    await writeFile(seen(`${results}/br1-net-pod-1-net1`), JSON.stringify(cached));
    await config.beginDeletion();
    expect(await installer.stop()).toBe(0);
    expect(await names()).toEqual(INSTALLED);
  });

  it("counts what plugins report, and finishes what they are never told to, but nothing that it can't see", async () => {
    await writeFile(seen("/var/run/netns/pod-3"), "");
    await record("/var/run/netns/pod-3", "pod-3");
    await record("/run/netns/gone");
    const env = { CNI_COMMAND: "DEL", CNI_CONTAINERID: "pod-2", CNI_IFNAME: "net1", CNI_PATH: "/" };
    const asPlugin = ["nsenter", `--target=${installer.pid}`, "--mount", "--", join(BUILT, "bridge")];
    await vi.waitFor(async () => {
      expect((await runCommand(asPlugin, { env, stdin: CNI_CONFIG })).code).toBe(0);
      expect(await metrics()).toMatch(/operation_duration_seconds_count\{plugin="bridge",command="DEL"\} \d/);
    }, WITHIN);
    await writeFile(seen("/run/netns/another"), "");
    await vi.waitFor(async () => {
      expect(await metrics()).toContain('linux_bridge_leaks_reaped_total{result="success"} 1');
    }, WITHIN);
    expect(await readdir(seen(RECORDS))).toEqual(["pod-3~net1~bridge.json"]);
    expect(await metrics()).toMatch(/linux_bridge_not_visible_attachments 1\n/);
    expect(await metrics()).toMatch(/linux_bridge_link_monitor_starts_total 1\n/);
  });

  it("keeps the files when the API server can't be asked", async () => {
    await controlPlane.killApiServer();
    await installer.stop();
    expect(await names()).toEqual(INSTALLED);
    await controlPlane.restartApiServer();
  });

  it("says in its readiness what stands under each name", async () => {
    await writeFile(join(directory, "tuning"), "theirs");
    await vi.waitFor(async () => {
      const { checks } = (await (await probe("readyz")).json()) as { checks: { installed: Record<string, string> } };
      expect(Object.keys(checks.installed).sort()).toEqual(INSTALLED);
      expect(checks.installed["cnv-bridge"]).toMatch(/^\d+\.\d+\.\d+, sha256 [0-9a-f]{64}$/);
      expect(checks.installed.tuning).toMatch(/^not ours: a file with sha256 [0-9a-f]{64}$/);
    }, WITHIN);
  });

  it("says in its readiness what is in the way", async () => {
    await rm(join(directory, "cnv-bridge"));
    await mkdir(join(directory, "cnv-bridge"));
    await vi.waitFor(async () => {
      const answer = await probe("readyz");
      expect(answer.status).toBe(503);
      expect(await answer.text()).toContain("cnv-bridge: there is something that is no file");
    }, WITHIN);
  });
});
