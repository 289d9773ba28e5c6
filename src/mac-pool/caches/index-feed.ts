import { addressesIn } from "../../api/host-interfaces.ts";
import { macOfClaimName } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import type { MACPool } from "../../api/mac-pool.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import type { Clock } from "../../kube/clock.ts";
import { factsOf } from "../core/claim.ts";
import type { ClaimFacts } from "../core/pool.ts";
import { PoolIndex } from "../core/pool-index.ts";
import { readPool } from "../core/pool-settings.ts";
import type { Informers } from "./informers.ts";
import { SharedValues } from "./shared-values.ts";

/** Keeps a pool index up to date with the claims and pools of the cluster. */
export class IndexFeed {
  readonly index = new PoolIndex();
  readonly #problems = new Map<string, string>();
  readonly #shared = new SharedValues();

  constructor({ claims, pools, nodeMacs }: Pick<Informers, "claims" | "pools" | "nodeMacs">, clock: Clock) {
    const { index } = this;
    const setClaim = (claim: MACClaim): void => {
      const mac = macOfClaimName(claim.metadata.name ?? "");
      if (mac !== undefined) index.setClaim(mac, this.#sharedFacts(claim), clock.monotonicMs());
    };
    claims.on({
      add: setClaim,
      update: setClaim,
      delete: (claim) => {
        const mac = macOfClaimName(claim.metadata.name ?? "");
        if (mac !== undefined) index.deleteClaim(mac);
      },
    });
    const setPool = (pool: MACPool): void => this.#setPool(pool);
    pools.on({
      add: setPool,
      update: setPool,
      delete: (pool) => {
        index.deletePool(pool.metadata.name ?? "");
        this.#problems.delete(pool.metadata.name ?? "");
      },
    });
    const setNode = (report: NodeMACs): void => index.setNode(report.metadata.name ?? "", addressesIn(report));
    nodeMacs.on({
      add: setNode,
      update: setNode,
      delete: ({ metadata }) => index.setNode(metadata.name ?? "", new Map()),
    });
  }

  /** Most claims of a namespace have the same facts. Those that rest have each their own time, and would only fill the store. */
  #sharedFacts(claim: MACClaim): ClaimFacts {
    const facts = factsOf(claim);
    return facts.untilMs === 0 ? this.#shared.object(facts) : facts;
  }

  /** What is wrong with a pool's spec; undefined when nothing is. */
  problemOf(pool: string): string | undefined {
    return this.#problems.get(pool);
  }

  /** Counting a pool anew takes time with many claims, and most updates of a pool change its status only. */
  #setPool(pool: MACPool): void {
    const name = pool.metadata.name ?? "";
    const known = this.index.pool(name);
    const { settings, problem } = readPool(pool, known?.settings.segments);
    if (problem === undefined) this.#problems.delete(name);
    else this.#problems.set(name, problem);
    if (known?.settings.segments.equals(settings.segments)) known.changePolicy(settings);
    else this.index.setPool(settings);
  }
}
