import type { NodeMACs } from "../../src/api/node-macs.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import type { ObjectStore } from "../support/object-store.ts";
import type { Random } from "../support/random.ts";
import type { Tenancy } from "./tenancy.ts";

const NAMES = ["node-a", "node-b"] as const;
/** A node that reports so many of the few addresses leaves some in any pool but the smallest. */
const MOST = 2;

/** The nodes of the simulated cluster, as far as their markers report addresses. */
export class Nodes {
  readonly #etcd: ObjectStore;
  readonly #tenancy: Tenancy;

  constructor(etcd: ObjectStore, tenancy: Tenancy) {
    this.#etcd = etcd;
    this.#tenancy = tenancy;
  }

  /** A node reports other addresses, or is gone. */
  change(random: Random): void {
    const name = random.pick(NAMES);
    const old = this.#etcd.get(KINDS.nodeMacs.plural, name);
    if (old !== undefined && random.chance(0.4)) {
      this.#etcd.remove(KINDS.nodeMacs, { name });
      return;
    }
    const numbers = Array.from({ length: random.below(MOST + 1) }, () => random.below(this.#tenancy.addressCount));
    const addresses = [...new Set(numbers)].map((number) => ({ mac: this.#tenancy.mac(number), interface: "eth0" }));
    if (old !== undefined) {
      this.#etcd.update(KINDS.nodeMacs, { ...old, addresses });
      return;
    }
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: name }];
    this.#etcd.create(KINDS.nodeMacs, { kind: "NodeMACs", metadata: { name, ownerReferences }, addresses });
  }

  reported(): ReadonlySet<string> {
    const reports = this.#etcd.list(KINDS.nodeMacs.plural) as unknown as NodeMACs[];
    return new Set(reports.flatMap(({ addresses }) => addresses.map(({ mac }) => mac)));
  }
}
