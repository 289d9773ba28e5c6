import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { KINDS } from "../../../src/mac-pool/objects/kinds.ts";
import { inFlight } from "../../support/in-flight.ts";
import { machine } from "../machines.ts";
import type { PoolBed } from "../pool-bed.ts";
import { forgedRequest, post } from "./attacks.ts";

/** Texts that are longer than anything that Kubernetes, KubeVirt or multus takes for a name. */

const BIG = "x".repeat(1024 * 1024);

type Request = ReturnType<typeof forgedRequest>;

/** A review that is right but for one text. */
const REVIEWS: readonly ((number: number) => string)[] = [
  (number) => vmReview(number, (request) => ({ ...request, name: `${number}${BIG}` })),
  (number) => vmReview(number, (request) => ({ ...request, namespace: `${number}${BIG}` })),
  (number) => vmReview(number, (request) => ({ ...request, uid: `${number}${BIG}` })),
  (number) => vmReview(number, (request) => ({ ...request, userInfo: { username: `${number}${BIG}` } })),
  (number) =>
    vmReview(number, (request) => ({ ...request, object: machine("m", "flooded", [{ name: `${number}${BIG}` }]) })),
  (number) =>
    vmReview(number, (request) => ({
      ...request,
      object: machine("m", "flooded", [{ name: "a", network: `${number}${BIG}` }]),
    })),
  (number) =>
    vmReview(number, (request) => ({ ...request, name: "", object: generated(`${number}${BIG}`, "flooded") })),
  (number) => updateReview(number),
  (number) => instanceReview(number),
  (number) => podReview(number, [{ name: "n", interface: `${number}${BIG}` }]),
  (number) => podReview(number, [{ name: `${number}${BIG}`, mac: "02:5d:1c:00:00:01" }]),
];

export const bigReview = (number: number): string =>
  (REVIEWS[number % REVIEWS.length] as (typeof REVIEWS)[number])(number);

function vmReview(number: number, change: (request: Request) => object): string {
  const request = forgedRequest("flooded", `big-${number}`, 1);
  return post("/mutate-virtualmachines", change(request));
}

/** The update of a VM whose UID is long. */
function updateReview(number: number): string {
  const object = machine("m", "flooded", [{ name: "a" }]);
  const stored = { ...object, metadata: { ...object.metadata, uid: `${number}${BIG}` } };
  return vmReview(number, (request) => ({
    ...request,
    operation: "UPDATE",
    object: stored,
    oldObject: { metadata: stored.metadata },
  }));
}

/** An instance of a VM that it makes up, with an address. */
function instanceReview(number: number): string {
  const request = forgedRequest("flooded", `big-${number}`, 1);
  const { spec } = machine("m", "flooded", [
    { name: `${number}${BIG}`, macAddress: "02:5d:1c:00:00:02" },
  ]) as unknown as {
    spec: { template: { spec: object } };
  };
  const ownerReferences = [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "m", uid: `${number}${BIG}` }];
  const object = { metadata: { name: "m", namespace: "flooded", ownerReferences }, spec: spec.template.spec };
  return post("/mutate-virtualmachineinstances", { ...request, object });
}

function podReview(number: number, networks: readonly object[]): string {
  const annotations = { "k8s.v1.cni.cncf.io/networks": JSON.stringify(networks) };
  const object = { metadata: { name: `big-${number}`, namespace: "flooded", annotations }, spec: {} };
  return post("/mutate-pods", { ...forgedRequest("flooded", `big-${number}`, 1), object });
}

function generated(generateName: string, namespace: string): KubeObject {
  const vm = machine("m", namespace, [{ name: "a" }]);
  return { ...vm, metadata: { generateName, namespace } };
}

/** What a tenant may write by the API server; each is refused by somebody. Gives what the answers say. */
export function bigVms(bed: PoolBed, namespace: string, count: number): Promise<string[]> {
  return inFlight(4, count, (number) => {
    const text = `${number}${BIG}`;
    const vm = number % 2 === 0 ? machine(`big-${number}`, namespace, [{ name: text }]) : generated(text, namespace);
    return bed.admin.create(KINDS.virtualMachines, vm).then(
      () => "created",
      (error: Error) => error.message,
    );
  });
}

/** Bytes that etcd has taken from its disk: the quota counts them. */
export async function etcdBytes({ controlPlane }: PoolBed): Promise<number> {
  const answer = await fetch(`${controlPlane.etcdUrl}/v3/maintenance/status`, { method: "POST", body: "{}" });
  return Number(((await answer.json()) as { dbSize: string }).dbSize);
}
