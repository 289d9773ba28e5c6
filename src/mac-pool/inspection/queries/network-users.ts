import type { KubeObject } from "../../../kube/client/resource.ts";
import type { NetworkUsers } from "../../cluster/network-counts.ts";
import { instanceOwner, referenceOf } from "../../objects/listed-macs.ts";
import { networkUseOfInstance, networkUseOfPod } from "../../objects/network-use.ts";
import type { NetworkUserView, NetworkView } from "../rest/network-views.ts";
import { type Scope, sees } from "./scope.ts";

/** Who is on a network. */

const MAX_NAMESPACES = 16;
const MAX_WAITING = 8;
/** Of a single view. */
const MAX_USERS = 500;

/** Whether a launcher of the VMI of that UID has a node: the VMI itself says so only when the launcher runs. */
export type IsPlaced = (uid: string) => boolean;

type Counts = Pick<NetworkView, "pending" | "starting" | "pods" | "usedBy" | "waiting">;

/** Numbers and the first names. */
export function usersView(users: NetworkUsers, isPlaced: IsPlaced, scope: Scope): Counts {
  const seen = <T>(byNamespace: ReadonlyMap<string, T>): (readonly [string, T])[] =>
    [...byNamespace].filter(([namespace]) => sees(scope, { namespace }));
  const scheduling = seen(users.waiting).flatMap(([namespace, vms]) =>
    [...vms].map(([name, uid]) => ({ name: `${namespace}/${name}`, isPlaced: isPlaced(uid) })),
  );
  const waiting = scheduling.filter((one) => !one.isPlaced).map(({ name }) => name);
  const starting = seen(users.starting);
  const pods = seen(users.pods);
  const all = [users.running, users.waiting, users.starting, users.pods].flatMap((each) => [...each.keys()]);
  const usedBy = [...new Set(all)].filter((namespace) => sees(scope, { namespace }));
  return {
    pending: waiting.length,
    starting: total(starting) + scheduling.length - waiting.length,
    pods: total(pods),
    usedBy: usedBy.sort().slice(0, MAX_NAMESPACES),
    waiting: waiting.sort().slice(0, MAX_WAITING),
  };
}

const total = (counts: readonly (readonly [string, number])[]): number =>
  counts.reduce((sum, [, count]) => sum + count, 0);

interface Users {
  readonly instances: Iterable<KubeObject>;
  readonly pods: Iterable<KubeObject>;
}

/** By name: the VMs and the pods that belong to none. */
export function usersOf(
  { instances, pods }: Users,
  isPlaced: IsPlaced,
  scope: Scope,
): Required<Pick<NetworkView, "users" | "moreUsers">> {
  const seen = (objects: Iterable<KubeObject>): KubeObject[] =>
    [...objects].filter(({ metadata: { namespace = "" } }) => sees(scope, { namespace }));
  const vms = seen(instances);
  const others = seen(pods);
  const first = firstByName([...vms, ...others], MAX_USERS);
  const ofPods = new Set(others);
  return {
    users: first.map((object) => (ofPods.has(object) ? podView(object) : vmView(object, isPlaced))),
    moreUsers: vms.length + others.length - first.length,
  };
}

function vmView(vmi: KubeObject, isPlaced: IsPlaced): NetworkUserView {
  const { kind, namespace, name = "" } = instanceOwner(vmi);
  const { node, state, uid } = networkUseOfInstance(vmi);
  const shown = state === "waiting" && isPlaced(uid) ? "starting" : state;
  return { kind, namespace, name, state: shown, ...(node === "" ? {} : { node }) };
}

function podView(pod: KubeObject): NetworkUserView {
  const { kind, namespace, name = "" } = referenceOf("Pod", pod);
  const { node, state } = networkUseOfPod(pod);
  return { kind, namespace, name, state, ...(node === "" ? {} : { node }) };
}

/** One network may have 100,000 VMs: they are not all sorted. */
function firstByName(objects: readonly KubeObject[], most: number): KubeObject[] {
  const first: { readonly name: string; readonly object: KubeObject }[] = [];
  for (const object of objects) {
    const name = `${object.metadata.namespace}/${object.metadata.name}`;
    if (first.length >= most && name >= (first.at(-1)?.name ?? "")) continue;
    const at = first.findLastIndex((one) => one.name <= name) + 1;
    first.splice(at, 0, { name, object });
    if (first.length > most) first.pop();
  }
  return first.map(({ object }) => object);
}
