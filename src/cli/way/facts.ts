import type { NadRef } from "../../api/claim-network.ts";
import type { NodeLanding } from "../../api/landing.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import type { Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { BridgeView, CollisionView, NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import type { KnownHistory, OwnerRef } from "../backends/pool-backend.ts";
import type { Network } from "../networks.ts";

/** What is read for the way from a request to a frame (`way.ts`), by `fact-reader.ts` with the rights of who asks. */

/** The value, which is undefined for what does not exist, or why it is not known: `not visible to you: needs list on nodes`. */
export type Read<T> = { readonly value: T | undefined } | { readonly unknown: string };

/** A VM or a VMI, as far as the way needs it. */
export type Machine = KubeObject & {
  readonly spec?: GuestSpec & { readonly template?: { readonly spec?: GuestSpec } };
  readonly status?: {
    readonly phase?: string;
    readonly nodeName?: string;
    readonly conditions?: readonly MachineCondition[];
    readonly migrationState?: { readonly endTimestamp?: string };
  };
};

interface MachineCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

export interface GuestSpec {
  readonly domain?: { readonly devices?: { readonly interfaces?: readonly GuestInterface[] } };
  readonly networks?: readonly { readonly name: string; readonly multus?: { readonly networkName?: unknown } | null }[];
}

interface GuestInterface {
  readonly name: string;
  readonly macAddress?: string;
  readonly state?: string;
}

export interface NodeInCluster extends NodeLanding {
  readonly name: string;
}

/** What all interfaces of an object have in common. */
export interface WayFacts {
  readonly owner: OwnerRef;
  /** What the pool knows about it. */
  readonly history: Read<KnownHistory>;
  /** Undefined for a pod. */
  readonly machine: Read<Machine> | undefined;
  /** Undefined for a pod. */
  readonly instance: Read<Machine> | undefined;
  /** The pod itself, or the launcher of the VMI that has not ended. */
  readonly pod: Read<Pod>;
  /** Why the runtime could not make the pod's sandbox, the newest first. */
  readonly sandboxErrors: Read<readonly string[]>;
  readonly nodes: Read<readonly NodeInCluster[]>;
  /** All of the cluster. */
  readonly networks: Read<readonly Network[]>;
  readonly reports: Read<readonly NodeMACs[]>;
  readonly collisions: Read<readonly CollisionView[]>;
  /** How many collisions that list leaves out. */
  readonly moreCollisions?: number;
  /** Whether a party of a collision is known to run. */
  readonly knowsRunning: boolean;
}

export interface WayInterface {
  readonly name: string;
  /** In lower case with colons; undefined where none is known. */
  readonly mac: string | undefined;
  /** Undefined for one that is not on a network of multus. */
  readonly nad: NadRef | undefined;
  /** What is wrong with the name of its network of multus. */
  readonly nameFault?: string | undefined;
  readonly network: Read<Network>;
  /** What the pool's service tells of the network, where the user may not see all objects that say it. */
  readonly told?: NetworkView | undefined;
  /** What it tells of the bridge of that network. */
  readonly toldBridge?: BridgeView | undefined;
  /** How others have the address in place of this one: `which the pool gave to VirtualMachine lab/web`. */
  readonly taken?: string | undefined;
}
