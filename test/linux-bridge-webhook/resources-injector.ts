/**
 * Stands in for network-resources-injector 1.7: a webhook that puts the resources of a pod's networks on its first container.
 * Without `honoring` it leaves a resource alone that any container has; with it, as with -honor-resources, it adds to what it
 * finds. It uses nothing of the product, which it judges.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";

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

export class ResourcesInjector implements AsyncDisposable {
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
