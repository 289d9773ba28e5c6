import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { INJECTED_ANNOTATION, NETWORKS_ANNOTATION, POD_WEBHOOK, SYSTEM_NAMESPACE } from "../../src/api/names.ts";
import { isAlreadyExists } from "../../src/kube/client/api-error.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { JsonPatchOp } from "../../src/kube/client/json-patch.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { PoolFixture } from "../mac-pool/pool-fixture.ts";
import { appliedPatch } from "../support/applied-patch.ts";
import { InjectorHarness } from "./injector-harness.ts";
import { BR1, BR2, NADS, PODS } from "./pods.ts";

/**
 * Stands in for network-resources-injector 1.7: a webhook that puts the resources of a pod's networks on its first container.
 * Without `honoring` it leaves a resource alone that any container has; with it, as with -honor-resources, it adds to what it
 * finds. It uses nothing of the product, which it judges.
 */

interface Container {
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

interface Review {
  readonly request: {
    readonly uid: string;
    readonly object: {
      readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly Container[] };
    };
  };
}

class ResourcesInjector implements AsyncDisposable {
  readonly #server: Server;
  readonly #resources: Readonly<Record<string, string>>;
  honoring = false;

  /** `resources`: those of the networks, by name, which the annotation lists in its shorthand form. */
  private constructor(server: Server, resources: Readonly<Record<string, string>>) {
    this.#server = server;
    this.#resources = resources;
  }

  static async start(
    certificate: { readonly cert: string; readonly key: string },
    resources: Readonly<Record<string, string>>,
  ): Promise<ResourcesInjector> {
    const server = createServer(certificate);
    const injector = new ResourcesInjector(server, resources);
    server.on("request", (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const review = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Review;
        response.setHeader("content-type", "application/json").end(JSON.stringify(injector.#answer(review)));
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return injector;
  }

  /** As its own manifest has it: called once, whatever others change afterwards. */
  configuration(caBundle: string): object {
    const { port } = this.#server.address() as AddressInfo;
    return {
      metadata: { name: "network-resources-injector-config" },
      webhooks: [
        {
          name: "network-resources-injector-config.k8s.cni.cncf.io",
          clientConfig: { url: `https://127.0.0.1:${port}/mutate`, caBundle },
          rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }],
          failurePolicy: "Fail",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #answer({ request }: Review): object {
    const patch = Buffer.from(JSON.stringify(this.#patch(request.object))).toString("base64");
    const response = { uid: request.uid, allowed: true, patchType: "JSONPatch", patch };
    return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
  }

  #patch({ metadata, spec }: Review["request"]["object"]): object[] {
    const wanted = new Map<string, number>();
    for (const name of (metadata.annotations?.["k8s.v1.cni.cncf.io/networks"] ?? "").split(",")) {
      const resource = this.#resources[name];
      if (resource !== undefined) wanted.set(resource, (wanted.get(resource) ?? 0) + 1);
    }
    const { requests, limits } = spec.containers[0]?.resources ?? {};
    const has = (resource: string): boolean =>
      spec.containers.some(({ resources }) => resource in { ...resources?.requests, ...resources?.limits });
    const path = "/spec/containers/0/resources";
    return [
      ...(requests === undefined ? [{ op: "add", path: `${path}/requests`, value: {} }] : []),
      ...(limits === undefined ? [{ op: "add", path: `${path}/limits`, value: {} }] : []),
      ...[...wanted].flatMap(([resource, count]) => {
        if (has(resource) && !this.honoring) return [];
        const key = resource.replaceAll("~", "~0").replaceAll("/", "~1");
        const sum = (found: string | undefined): string => String(Number(found ?? 0) + count);
        return [
          { op: "add", path: `${path}/requests/${key}`, value: sum(requests?.[resource]) },
          { op: "add", path: `${path}/limits/${key}`, value: sum(limits?.[resource]) },
        ];
      }),
    ];
  }
}

/** Names of our configuration before and behind those of the others: API servers call webhooks in the order of the names. */
const ORDERS = { "before it": "a-linux-bridge-webhook", "behind it": "z-linux-bridge-webhook" };
const MACS = "macs";
const GOLDEN = join(import.meta.dirname, "../golden/injection.json");

const resourcesOf = (pod: Pod) => (pod.spec?.containers ?? []).map(({ resources }) => resources ?? {});

describe("the injection on a real API server", () => {
  let pool: PoolFixture;
  let harness: InjectorHarness;

  beforeAll(async () => {
    pool = await PoolFixture.start();
    harness = await InjectorHarness.start({ controlPlane: pool.controlPlane });
    for (const [key, annotations] of Object.entries(NADS)) {
      const [namespace = "", name = ""] = key.split("/");
      await harness.admin.create(RESOURCES.namespaces, { metadata: { name: namespace } }).catch((error) => {
        if (!isAlreadyExists(error)) throw error;
      });
      await harness.createNad(name, annotations, namespace);
    }
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
    await pool?.[Symbol.asyncDispose]();
  });

  describe("by itself", () => {
    beforeAll(() => harness.registerWebhook());
    afterAll(() => harness.unregisterWebhook());

    const answers: Readonly<Record<string, { allowed: boolean; patch?: JsonPatchOp[]; message?: string }>> = JSON.parse(
      readFileSync(GOLDEN, "utf8"),
    );

    it.each(Object.entries(PODS))("makes of a pod with %s what is on record", async (what, pod) => {
      const { allowed, patch = [], message = "" } = answers[what] ?? { allowed: false };
      const created = harness.admin.create(RESOURCES.pods, pod);
      if (!allowed) return expect(created).rejects.toThrow(message);
      const expected = appliedPatch(pod, patch);
      const { spec, metadata } = await created;
      expect(resourcesOf({ spec } as Pod)).toMatchObject(resourcesOf(expected));
      expect(spec?.nodeSelector).toEqual(expected.spec?.nodeSelector);
      expect(metadata.annotations).toEqual(expected.metadata.annotations);
    });

    it("leaves pods without networks, and those of the system's namespace, alone", async () => {
      const { metadata, ...rest } = PODS["a network that does not exist"] as Pod;
      const without = { ...rest, metadata: { ...metadata, annotations: { other: "annotation" } } };
      await harness.admin.create(RESOURCES.pods, without, { dryRun: true });
      await harness.admin.create(RESOURCES.serviceAccounts, {
        metadata: { namespace: SYSTEM_NAMESPACE, name: "default" },
      });
      const ofSystem = { ...rest, metadata: { ...metadata, namespace: SYSTEM_NAMESPACE } };
      await harness.admin.create(RESOURCES.pods, ofSystem, { dryRun: true });
      const text = await harness.metrics();
      expect(text).toContain('linux_bridge_webhook_pods_total{decision="denied"}');
      expect(text).toContain('linux_bridge_webhook_pods_total{decision="failed"} 0');
    });
  });

  describe.each(Object.entries(ORDERS))("beside network-resources-injector, called %s", (_order, name) => {
    let other: ResourcesInjector;

    beforeAll(async () => {
      const { authority } = harness.controlPlane;
      const certificate = await authority.issue({ commonName: "other", addresses: ["127.0.0.1"], usage: ["server"] });
      other = await ResourcesInjector.start(certificate, { br1: BR1, "br1-vlan7": BR1, br2: BR2 });
      const configuration = other.configuration(btoa(authority.certificate));
      await harness.admin.create(RESOURCES.mutatingWebhookConfigurations, configuration as never);
      await harness.registerWebhook({ name });
    });
    afterAll(async () => {
      await harness.unregisterWebhook(name);
      await harness.admin.delete(RESOURCES.mutatingWebhookConfigurations, {
        name: "network-resources-injector-config",
      });
      await other[Symbol.asyncDispose]();
    });

    it.each([
      { honoring: false, own: undefined, amount: "2" },
      { honoring: false, own: "3", amount: "3" },
      { honoring: true, own: undefined, amount: "2" },
      { honoring: true, own: "1", amount: "3" },
    ])(
      "counts each network once, with honor-resources $honoring and $own of the pod's own",
      async ({ honoring, own, amount }) => {
        other.honoring = honoring;
        const amounts = own === undefined ? {} : { [BR1]: own };
        const pod = await harness.admin.create(RESOURCES.pods, {
          metadata: {
            namespace: "default",
            generateName: "web-",
            annotations: { [NETWORKS_ANNOTATION]: "br1,br1-vlan7,br2" },
          },
          spec: {
            containers: [{ name: "c", image: "example.com/c", resources: { requests: amounts, limits: amounts } }],
          },
        });
        const expected = { [BR1]: amount, [BR2]: "1" };
        expect(resourcesOf(pod)).toEqual([{ requests: expected, limits: expected }]);
      },
    );
  });

  describe("beside the MAC pool", () => {
    beforeAll(async () => {
      await harness.admin.create(RESOURCES.namespaces, {
        metadata: { name: MACS, labels: { [POD_WEBHOOK]: "allocate" } },
      });
      await harness.admin.create(RESOURCES.serviceAccounts, { metadata: { namespace: MACS, name: "default" } });
      await pool.startReplica("one");
      await pool.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] });
      await pool.registerWebhooks();
    });

    /** Its parts that the two webhooks write, with a word in the place of each address. */
    async function created(): Promise<object> {
      const networks = "default/br1,other/br2@eth7";
      const { spec, metadata } = await harness.admin.create(RESOURCES.pods, {
        metadata: { namespace: MACS, generateName: "web-", annotations: { [NETWORKS_ANNOTATION]: networks } },
        spec: { containers: [{ name: "c", image: "example.com/c" }] },
      });
      const macs = metadata.annotations?.[NETWORKS_ANNOTATION]?.match(/02(:[0-9a-f]{2}){5}/g) ?? [];
      expect(new Set(macs).size).toBe(2);
      const text = JSON.stringify({ annotations: metadata.annotations, containers: spec?.containers });
      return JSON.parse(macs.reduce((found, mac) => found.replace(mac, "MAC"), text));
    }

    it("makes the same pod in both orders, with an address for each network and all resources", async () => {
      const pods: object[] = [];
      for (const name of Object.values(ORDERS)) {
        await harness.registerWebhook({ name });
        pods.push(await created());
        await harness.unregisterWebhook(name);
      }
      // Mounts of the service account's token have a random name.
      const [first, second] = pods.map((pod) => JSON.parse(JSON.stringify(pod).replace(/kube-api-access-\w+/g, "T")));
      expect(first).toEqual(second);
      expect(first).toMatchObject({
        annotations: { [INJECTED_ANNOTATION]: `{"${BR1}":{"from":0,"to":1},"${BR2}":{"from":0,"to":1}}` },
        containers: [{ resources: { requests: { [BR1]: "1", [BR2]: "1" } } }],
      });
      expect(JSON.stringify(first)).toContain(String.raw`\"interface\":\"eth7\",\"mac\":\"MAC\"`);
    });
  });
});
