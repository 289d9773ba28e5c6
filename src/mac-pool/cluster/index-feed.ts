import { addressesIn, stationsIn } from "../../api/host-interfaces.ts";
import { type Mac, macOfClaimName } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import type { MACPool } from "../../api/mac-pool.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { factsOf, isAdmission, statusOf } from "../claims/claim.ts";
import { instanceMacs, type ListedMac, machineMacs, podMacs } from "../objects/listed-macs.ts";
import type { ClaimFacts } from "../pools/pool.ts";
import { PoolIndex } from "../pools/pool-index.ts";
import { readPool } from "../pools/pool-settings.ts";
import { type Informers, isAttached } from "./informers.ts";
import { SharedValues } from "./shared-values.ts";

/** Keeps a pool index up to date with the claims and pools of the cluster, and the objects that list addresses. */
export class IndexFeed {
  readonly index = new PoolIndex();
  readonly #problems = new Map<string, string>();
  readonly #shared = new SharedValues();
  readonly #clock: Clock;
  #hasSearched = false;
  readonly #informers: Informers;
  readonly #isListed: (mac: Mac) => boolean;

  /** `isListed`: whether any object in the cache lists the address. */
  constructor(informers: Informers, clock: Clock, isListed: (mac: Mac) => boolean) {
    const { claims, pools, nodeMacs, machines, instances, pods } = informers;
    const { index } = this;
    this.#informers = informers;
    this.#clock = clock;
    this.#isListed = isListed;
    const doubt = (): void => index.pending.doubt();
    claims.on({
      onRelist: doubt,
      add: (claim, { created }) => this.#setClaim(claim, undefined, created),
      update: (claim, old) => this.#setClaim(claim, old, false),
      delete: (claim) => {
        const mac = macOfClaimName(claim.metadata.name ?? "");
        if (mac === undefined) return;
        index.deleteClaim(mac);
        this.#release(mac);
      },
    });
    const follow = (objects: Informers["pods"], macsOf: (object: KubeObject) => readonly ListedMac[]): void => {
      const list = (object: KubeObject): void => {
        for (const { mac } of macsOf(object)) {
          index.pending.list(mac);
          index.list(mac, createdMs(object));
        }
      };
      const release = (object: KubeObject): void => {
        for (const { mac } of macsOf(object)) this.#release(mac);
      };
      objects.on({ onRelist: doubt, add: list, update: list, delete: release });
    };
    follow(machines, machineMacs);
    follow(instances, instanceMacs);
    follow(pods, (pod) => podMacs(pod));
    const setPool = (pool: MACPool): void => this.#setPool(pool);
    pools.on({
      add: setPool,
      update: setPool,
      delete: (pool) => {
        index.deletePool(pool.metadata.name ?? "");
        this.#problems.delete(pool.metadata.name ?? "");
      },
    });
    const setNode = (report: NodeMACs): void => {
      index.setNode(report.metadata.name ?? "", addressesIn(report));
      if (this.#hasSearched) this.#setStations(report);
    };
    nodeMacs.on({
      add: setNode,
      update: setNode,
      delete: ({ metadata }) => index.setNode(metadata.name ?? "", new Map()),
    });
  }

  #setClaim(claim: MACClaim, old: MACClaim | undefined, isCreated: boolean): void {
    const { index } = this;
    const mac = macOfClaimName(claim.metadata.name ?? "");
    if (mac === undefined) return;
    const facts = this.#sharedFacts(claim);
    const nowMs = this.#clock.monotonicMs();
    index.setClaim(mac, facts, createdMs(claim));
    if (facts.isQuarantined) index.pending.forget(mac);
    else if (isAdmission(claim, old) && (isCreated || this.#knowsObjects)) {
      this.#lookForObject(mac, facts, nowMs, isCreated);
    }
  }

  /**
   * To be called when all objects are listed: until then nobody knows of a claim that was listed whether it is pending, and
   * of a station whether it is a VM of this cluster.
   */
  findPending(): void {
    if (this.#hasSearched) return;
    this.#hasSearched = true;
    for (const report of this.#informers.nodeMacs.list()) this.#setStations(report);
    for (const claim of this.#informers.claims.list()) {
      const mac = macOfClaimName(claim.metadata.name ?? "");
      const facts = mac === undefined ? undefined : this.index.claim(mac);
      if (mac === undefined || facts === undefined || facts.isQuarantined) continue;
      if (statusOf(claim).owners.some((owner) => isAttached(this.#informers.pods, mac, owner))) continue;
      this.#lookForObject(mac, facts, this.#clock.monotonicMs(), false);
    }
  }

  #setStations(report: NodeMACs): void {
    this.index.setStations(report.metadata.name ?? "", stationsIn(report), this.#clock.now(), this.#isListed);
  }

  #release(mac: Mac): void {
    if (!this.#isListed(mac)) this.index.release(mac, this.#clock.now());
  }

  get #knowsObjects(): boolean {
    const { machines, instances, pods } = this.#informers;
    return machines.hasSynced && instances.hasSynced && pods.hasSynced;
  }

  #lookForObject(mac: Mac, { namespaces }: ClaimFacts, nowMs: number, isCreated: boolean): void {
    if (!this.#isListed(mac)) this.index.pending.set(mac, namespaces, nowMs, isCreated);
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

const createdMs = ({ metadata }: KubeObject): number => Date.parse(metadata.creationTimestamp ?? "");
