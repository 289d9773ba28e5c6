import type { TLSSocket } from "node:tls";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { ClientAuthoritySource } from "../../src/certs/client-authority-source.ts";
import { silentLog } from "../../src/kube/log.ts";
import { refusalOfClient } from "../../src/kube/server/certificate-source.ts";
import { Authority } from "../cluster/control-plane/authority.ts";
import { ListedObjects } from "../mac-pool/inspection/queries/listed-objects.ts";

const CONFIG_MAP = { name: "clients", namespace: "ns" };
const BROKEN = { metadata: CONFIG_MAP, data: { "ca.crt": "none" } };

/** A source that has read the ConfigMap as it is. */
async function started(found: readonly object[], signal: AbortSignal) {
  const objects = new ListedObjects({ configmaps: found as never });
  const certificates = { current: () => ({ cert: "", key: "" }), onChange: () => () => {} };
  const client = objects.asKubeClient();
  const where = { namespace: "ns", configMap: "clients", log: silentLog, metrics: new Registry() };
  const source = new ClientAuthoritySource({ client, certificates, ...where });
  source.run(signal).catch(() => {});
  await expect.poll(() => source.current()).toBeDefined();
  /** Why somebody with an accepted certificate is refused. */
  const refusal = (): string | undefined => {
    const clients = source.current()?.clients;
    const socket = { authorized: true, getPeerCertificate: () => ({ subject: { CN: "caller" } }) };
    return clients && refusalOfClient(socket as unknown as TLSSocket, clients)?.message;
  };
  return { objects, source, refusal };
}

describe("who may call a listener", () => {
  it("is nobody when a process starts with a ConfigMap that has no certificate", async () => {
    using stop = new AbortControllerScope();
    const { objects, source, refusal } = await started([BROKEN], stop.signal);
    const why = "ConfigMap ns/clients has no certificate in PEM under ca.crt, so nobody may call.";
    expect(refusal()).toContain(why);
    expect(source.problem).toContain(why);
    await objects.tell("MODIFIED", "configmaps", BROKEN);
    expect(refusal()).toContain(why);

    const { certificate } = await Authority.create("callers");
    await objects.tell("MODIFIED", "configmaps", { metadata: CONFIG_MAP, data: { "ca.crt": certificate } } as never);
    expect([refusal(), source.problem]).toEqual([undefined, undefined]);
    expect(source.current()?.clients?.ca).toBe(certificate);

    await objects.tell("MODIFIED", "configmaps", BROKEN);
    expect(source.current()?.clients?.ca).toBe(certificate);
    expect(source.problem).toContain("its last valid content stays in force");

    await objects.tell("DELETED", "configmaps", BROKEN);
    expect([source.current()?.clients, source.problem]).toEqual([undefined, undefined]);
  });
});

class AbortControllerScope extends AbortController implements Disposable {
  [Symbol.dispose](): void {
    this.abort();
  }
}
