import { writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { connect, type SecureVersion, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  LINUX_BRIDGE_WEBHOOK,
  MAC_POOL_CERT_MANAGER,
  MAC_POOL_SERVICE,
  NETWORK_ADDONS_CONFIG_NAME,
  OPERATOR_NAME,
} from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { MANAGER_ACCOUNT } from "../../src/operator/components/kube-mac-pool-access.ts";
import { issueToken } from "../mac-pool/account.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { ProductProcess } from "../support/product-process.ts";
import { CONFIGS, InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const BOTH = { linuxBridge: {}, kubeMacPool: {} };
const MONITORING = { namespace: "monitoring", name: "prometheus-k8s" };

/** A process of the product with the account that the operator gives it. */
interface Role {
  readonly name: string;
  readonly product: string;
  readonly account: string;
  /** Where its metrics are. */
  readonly portVariable: string;
  /** A metric that no other process has. */
  readonly metric: string;
  readonly env?: Readonly<Record<string, string>>;
}

const OPERATOR: Role = {
  name: "the operator",
  product: "operator",
  account: OPERATOR_NAME,
  portVariable: "METRICS_PORT",
  metric: "kubevirt_cnao_cr_ready",
};
const MAC_POOL: Role = {
  name: "the MAC pool",
  product: "mac-pool",
  account: MANAGER_ACCOUNT,
  portVariable: "INSPECTION_PORT",
  metric: "kubevirt_macpool_sync_seconds",
};
const WEBHOOK: Role = {
  name: "the injection webhook",
  product: "linux-bridge-webhook",
  account: LINUX_BRIDGE_WEBHOOK,
  portVariable: "METRICS_PORT",
  metric: "linux_bridge_webhook_pods_total",
};
const CERT_MANAGER: Role = {
  name: "the certificate manager of the MAC pool",
  product: "certs",
  account: MAC_POOL_CERT_MANAGER,
  portVariable: "METRICS_PORT",
  metric: "cert_manager_certificate_not_after_seconds",
  env: {
    CA_SECRET: "kubemacpool-mutator-ca",
    SERVING_SECRET: MAC_POOL_SERVICE,
    SERVICE_NAME: MAC_POOL_SERVICE,
    WEBHOOK_CONFIGURATIONS: "Mutating/kubemacpool-mutator",
  },
};
const ROLES = [OPERATOR, MAC_POOL, WEBHOOK, CERT_MANAGER];

interface Got {
  readonly status: number;
  readonly body: string;
  readonly fingerprint: string;
}

describe("the metrics of the product's processes", () => {
  let cluster: InstalledOperator;
  let prometheus: string;
  let nobody: string;
  const processes = new Map<Role, { readonly process: ProductProcess; readonly port: number }>();

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    await cluster.admin.create(RESOURCES.namespaces, { metadata: { name: MONITORING.namespace } });
    prometheus = await newAccount(MONITORING);
    nobody = await newAccount({ namespace: "default", name: "nobody" });
    await start(OPERATOR);
    expect(await cluster.applyConfig(BOTH)).toMatchObject({ code: 0 });
    await cluster.rollOutUntilAvailable();
    for (const role of ROLES.slice(1)) await start(role);
    for (const role of ROLES) {
      await eventually(`metrics of ${role.name}`, async () => {
        const { status, body } = await get(role, prometheus);
        return status === 200 && body.includes(`\n${role.metric}`);
      });
    }
  });
  afterAll(async () => {
    for (const { process } of processes.values()) await process[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  async function newAccount(ref: { readonly namespace: string; readonly name: string }): Promise<string> {
    await cluster.admin.create(RESOURCES.serviceAccounts, { metadata: ref });
    return issueToken(cluster.admin, ref);
  }

  async function start(role: Role): Promise<void> {
    const user = `system:serviceaccount:${NAMESPACE}:${role.account}`;
    const kubeconfig = join(cluster.controlPlane.directory, `${role.account}.kubeconfig`);
    await writeFile(kubeconfig, await cluster.controlPlane.userKubeconfig(user, ["system:serviceaccounts"]));
    const port = await freePort();
    const process = await ProductProcess.start({
      product: role.product,
      env: {
        KUBECONFIG: kubeconfig,
        POD_NAME: `${role.product}-1`,
        POD_NAMESPACE: NAMESPACE,
        HEALTH_PORT: "0",
        HTTPS_PORT: "0",
        ...role.env,
        [role.portVariable]: String(port),
      },
    });
    processes.set(role, { process, port });
  }

  const portOf = (role: Role): number => processes.get(role)?.port ?? 0;

  function get(role: Role, token?: string, path = "/metrics"): Promise<Got> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = { host: "127.0.0.1", port: portOf(role), path, headers, rejectUnauthorized: false, agent: false };
    return new Promise((resolve, reject) => {
      const asked = request(options, async (response) => {
        const { fingerprint256: fingerprint } = (response.socket as TLSSocket).getPeerCertificate();
        const body = (await response.toArray()).join("");
        resolve({ status: response.statusCode ?? 0, body, fingerprint });
      });
      asked.on("error", reject);
      asked.end();
    });
  }

  /** Protocol that a client of this version alone ends up with. */
  function speaking(role: Role, version: SecureVersion): Promise<string> {
    const options = { minVersion: version, maxVersion: version, rejectUnauthorized: false };
    return new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port: portOf(role), ...options }, () => {
        resolve(String(socket.getProtocol()));
        socket.destroy();
      });
      socket.once("error", () => resolve("refused"));
    });
  }

  const lines = async (): Promise<string[]> => (await get(OPERATOR, prometheus)).body.split("\n");

  describe.each(ROLES)("of $name", (role) => {
    it("are refused without a token, with a wrong one, and to an account without the right", async () => {
      expect((await get(role)).status).toBe(401);
      expect((await get(role, "not-a-token")).status).toBe(401);
      expect(await get(role, nobody)).toMatchObject({
        status: 403,
        body: 'user "system:serviceaccount:default:nobody" may not get /metrics\n',
      });
    });

    it("are shown to the account that the monitoring role is bound to", async () => {
      const { status, body } = await get(role, prometheus);
      expect(status).toBe(200);
      expect(body).toMatch(/^process_resident_memory_bytes \d+$/m);
      expect((await get(role, prometheus, "/elsewhere")).status).toBe(404);
    });
  });

  it("are truthful about the configuration, one line each", async () => {
    expect(await lines()).toEqual(
      expect.arrayContaining([
        "kubevirt_cnao_cr_ready 1",
        "kubevirt_cnao_cr_kubemacpool_deployed 1",
        'kubevirt_cnao_component_available{component="linuxBridge"} 1',
        'kubevirt_cnao_component_available{component="kubeMacPool"} 1',
      ]),
    );
    const text = (await lines()).join("\n");
    expect(text).toMatch(/^workqueue_depth\{name="network-addons-config"\} \d+$/m);
    expect(text).toMatch(
      /^controller_runtime_reconcile_total\{controller="network-addons-config",result="success"\} /m,
    );
  });

  it("follow a changed TLS profile without a restart", async () => {
    const pids = () => ROLES.map((role) => processes.get(role)?.process.pid);
    const before = pids();
    for (const role of ROLES) expect([role.name, await speaking(role, "TLSv1.2")]).toEqual([role.name, "refused"]);
    await cluster.applyConfig({ ...BOTH, tlsSecurityProfile: { type: "Intermediate", intermediate: {} } });
    for (const role of ROLES) {
      await eventually(`TLS 1.2 for ${role.name}`, async () => (await speaking(role, "TLSv1.2")) === "TLSv1.2");
      expect((await get(role, prometheus)).status).toBe(200);
    }
    await cluster.applyConfig(BOTH);
    for (const role of ROLES) {
      await eventually(`TLS 1.3 only for ${role.name}`, async () => (await speaking(role, "TLSv1.2")) === "refused");
      expect(await speaking(role, "TLSv1.3")).toBe("TLSv1.3");
    }
    expect(pids()).toEqual(before);
  });

  it.each([
    [MAC_POOL, MAC_POOL_SERVICE],
    [WEBHOOK, LINUX_BRIDGE_WEBHOOK],
  ])("go on while the certificate of $name is rotated", async (role, secret) => {
    const { fingerprint } = await get(role, prometheus);
    const emptied = { type: "merge" as const, body: { data: { "tls.crt": "", "tls.key": "" } } };
    await cluster.admin.patch(RESOURCES.secrets, { name: secret, namespace: NAMESPACE }, emptied);
    const statuses = new Set<number>();
    await eventually("another certificate", async () => {
      const got = await get(role, prometheus);
      statuses.add(got.status);
      return got.fingerprint !== fingerprint;
    });
    expect([...statuses]).toEqual([200]);
  });

  it("say when the pool or the configuration is gone", async () => {
    await cluster.applyConfig({ linuxBridge: {} });
    await eventually("the pool is gone", async () =>
      (await lines()).includes("kubevirt_cnao_cr_kubemacpool_deployed 0"),
    );
    expect((await lines()).some((line) => line.includes('component="linuxBridge"'))).toBe(true);
    await cluster.admin.delete(CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME });
    await eventually("not ready", async () => (await lines()).includes("kubevirt_cnao_cr_ready 0"));
    expect((await lines()).filter((line) => /^kubevirt_cnao_cr_\w+ /.test(line))).toHaveLength(2);
  });
});
