import { Agent, request } from "node:https";

/** AdmissionReviews as an API server sends them, one at a time on one connection. */

const NETWORKS = ["a", "b"];

/** A VM of about 2 kB with two multus interfaces. */
export function virtualMachine(name: string, namespace: string, macs: readonly string[] = []): object {
  const interfaces = NETWORKS.map((nic, i) => ({
    name: nic,
    bridge: {},
    ...(macs[i] === undefined ? {} : { macAddress: macs[i] }),
  }));
  const annotations = { "example.com/filler": "x".repeat(1_200) };
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: { name, namespace, uid: `uid-${name}`, annotations },
    spec: {
      runStrategy: "Always",
      template: {
        metadata: { labels: { "kubevirt.io/domain": name } },
        spec: {
          domain: {
            devices: { interfaces, disks: [{ name: "root", disk: { bus: "virtio" } }] },
            memory: { guest: "1Gi" },
          },
          networks: NETWORKS.map((nic) => ({ name: nic, multus: { networkName: "br1-net" } })),
        },
      },
    },
  };
}

export function admissionReview(
  operation: "CREATE" | "UPDATE",
  namespace: string,
  name: string,
  object: object,
): string {
  const kind = { group: "kubevirt.io", version: "v1", kind: "VirtualMachine" };
  const resource = { group: "kubevirt.io", version: "v1", resource: "virtualmachines" };
  const oldObject = operation === "UPDATE" ? object : null;
  const uid = `review-${name}`;
  const asked = { uid, kind, resource, operation, name, namespace, object, oldObject, dryRun: false, userInfo: {} };
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: asked });
}

/** One caller with a connection of its own. Throws when an object is not admitted. */
export class Caller implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /** Milliseconds from the request to the end of the answer. */
  call(body: string): Promise<number> {
    const startMs = performance.now();
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: this.#port, agent: this.#agent, method: "POST" };
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const call = request({ ...options, headers, path: "/mutate-virtualmachines?timeout=10s" }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.once("end", () => {
          const tookMs = performance.now() - startMs;
          const text = Buffer.concat(chunks).toString("utf8");
          if (answer.statusCode === 200 && text.includes('"allowed":true')) resolve(tookMs);
          else reject(new Error(`not admitted: ${answer.statusCode} ${text}`));
        });
      });
      call.once("error", reject);
      call.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
