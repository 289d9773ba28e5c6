import { mkdir, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOL_WEBHOOK_CLIENTS } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { Authority, type KeyPair } from "../cluster/control-plane/authority.ts";
import { startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { renderKubeconfig } from "../cluster/control-plane/kubeconfig.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { POOL_NAMESPACE, PoolFixture } from "./pool-fixture.ts";

const NAME = "webhook-caller";
const CONFIG_MAP = { name: MAC_POOL_WEBHOOK_CLIENTS, namespace: POOL_NAMESPACE };

describe("webhooks for clients with a certificate, on an API server that has one", () => {
  let fixture: PoolFixture;
  let authority: Authority;

  beforeAll(async () => {
    authority = await Authority.create("webhook-clients");
    const directory = await makeRunDirectory();
    await mkdir(directory, { recursive: true });
    const kubeconfig = join(directory, "webhook-callers.kubeconfig");
    const configuration = join(directory, "admission-configuration.json");
    await writeFile(kubeconfig, webhookKubeconfig(await authority.issue({ commonName: NAME, usage: ["client"] })));
    await writeFile(configuration, JSON.stringify(admissionConfiguration(kubeconfig)));
    const apiServerArguments = [`--admission-control-config-file=${configuration}`];
    fixture = await PoolFixture.start({ controlPlane: await startControlPlane({ directory, apiServerArguments }) });
    await fixture.startReplica("one");
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  /** Status and text of the answer to a review that is none, as somebody who reaches the port sends it. */
  function call(pair?: KeyPair, replica = "one"): Promise<string> {
    return new Promise((resolve, reject) => {
      const { certificate } = fixture.controlPlane.authority;
      const url = `${fixture.httpsUrl(replica)}/mutate-virtualmachines`;
      const sent = request(url, { method: "POST", ca: certificate, agent: false, ...pair }, (answer) => {
        let text = "";
        answer.on("data", (data) => {
          text += data;
        });
        answer.on("end", () => resolve(`${answer.statusCode} ${text.trim()}`));
      });
      sent.on("error", reject);
      sent.end("{}");
    });
  }

  async function servingMessage(): Promise<string | undefined> {
    const { status } = await fixture.admin.get(KINDS.pools, { name: "default" });
    return status?.conditions?.find(({ type }) => type === "Serving")?.message;
  }

  const served = "400 the body is not an AdmissionReview of admission.k8s.io/v1";

  async function allow(names: string): Promise<void> {
    const data = { "ca.crt": authority.certificate, names };
    await fixture.admin.patch(RESOURCES.configMaps, CONFIG_MAP, { type: "merge", body: { data } });
  }

  it("are served to anybody until there is a ConfigMap, then to the API server only, until it is gone", async () => {
    expect(await call()).toBe(served);
    const own = await authority.issue({ commonName: NAME, usage: ["client"] });
    const other = await authority.issue({ commonName: "kubelet", usage: ["client"] });
    const foreign = await fixture.controlPlane.authority.issue({ commonName: NAME, usage: ["client"] });

    await fixture.admin.create(RESOURCES.configMaps, {
      metadata: CONFIG_MAP,
      data: { "ca.crt": authority.certificate },
    });
    const refused = "403 this port serves the API server only: there is no client certificate";
    await eventually("callers without a certificate are refused", async () => (await call()) === refused);
    expect(await call(foreign)).toMatch(/^403 the client certificate is not accepted: /);
    expect(await call(other)).toBe(served);
    const vm = await fixture.admin.create(KINDS.virtualMachines, machine("web", "default", [{ name: "a" }]));
    expect(macsOf(vm)[0]).toMatch(/^02:5d:1c:/);

    await allow(`${NAME}\nanother`);
    const wrongName = '403 the client certificate is for "kubelet", which is not accepted here';
    await eventually("other names are refused", async () => (await call(other)) === wrongName);
    expect(await call(own)).toBe(served);

    const broken = { type: "merge", body: { data: { "ca.crt": "none" } } } as const;
    await fixture.admin.patch(RESOURCES.configMaps, CONFIG_MAP, broken);
    await eventually("the log says so", () => fixture.logOf("one").includes("has no certificate in PEM under ca.crt"));
    expect(await call()).toBe(refused);
    const isInForce = async () => (await servingMessage())?.includes("its last valid content stays in force") === true;
    await eventually("the status says so", isInForce);

    // A process that has never read a valid one.
    await fixture.stopReplica("one");
    await fixture.startReplica("two");
    const problem = `ConfigMap ${POOL_NAMESPACE}/${MAC_POOL_WEBHOOK_CLIENTS} has no certificate in PEM under ca.crt`;
    const closed = `403 ${problem}, so nobody may call. Correct it, or delete it to let anybody call.`;
    for (const caller of [undefined, own, foreign]) expect(await call(caller, "two")).toBe(closed);
    const refusal = fixture.admin.create(KINDS.virtualMachines, machine("db", "default", [{ name: "a" }]));
    await expect(refusal).rejects.toThrow(problem);
    await eventually("the status says so", async () => (await servingMessage())?.includes("nobody may call") === true);
    await allow(NAME);
    await eventually("the API server is served", async () => (await call(own, "two")) === served);
    expect(await call(undefined, "two")).toBe(refused);
    await eventually("the status is as before", async () => (await servingMessage()) === undefined);

    await fixture.admin.delete(RESOURCES.configMaps, CONFIG_MAP);
    await eventually("anybody is served", async () => (await call(undefined, "two")) === served);
  });
});

function webhookKubeconfig(credentials: KeyPair): string {
  return renderKubeconfig({ server: "https://unused", caCertificate: "", user: "*", credentials });
}

function admissionConfiguration(kubeConfigFile: string): object {
  const group = "apiserver.config.k8s.io/v1";
  const configuration = { apiVersion: group, kind: "WebhookAdmissionConfiguration", kubeConfigFile };
  const plugins = [{ name: "MutatingAdmissionWebhook", configuration }];
  return { apiVersion: group, kind: "AdmissionConfiguration", plugins };
}
