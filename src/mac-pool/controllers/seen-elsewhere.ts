import { formatMac, type Mac, parseMac } from "../../api/mac.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import { type Flap, flappingMacs, flapsOf, isElsewhere, seenElsewhere } from "../../api/seen-elsewhere.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Caches } from "../cluster/caches.ts";
import { BY_FLAPPING, BY_RUNNING } from "../cluster/informers.ts";
import type { RunningAt } from "../cluster/running-now.ts";
import { regardingOf } from "../objects/kinds.ts";
import { macsOfRunningInstance, macsOfRunningPod, seatOfObject } from "../objects/running.ts";
import { aborted, onEach, onManagementChange, whileFollowing } from "./following.ts";

export const SEEN_ELSEWHERE_EVENT = "MACSeenElsewhere";

interface SeenElsewhereOptions {
  readonly caches: Caches;
  readonly events: EventRecorder;
  /** How many addresses are affected, whenever that may have changed. */
  readonly onCount: (addresses: number) => void;
}

/**
 * Reports managed objects that run and whose address a station outside the cluster uses too, as their nodes say. Nothing is
 * taken away. Run by the elected leader; the next leader reports anew.
 */
export class SeenElsewhere {
  readonly #options: SeenElsewhereOptions;
  /** Address -> who is affected where, as it was reported last. */
  readonly #reported = new Map<Mac, string>();

  constructor(options: SeenElsewhereOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Can be run once. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches, onCount } = this.#options;
    const { instances, pods, nodeMacs } = caches;
    const reportChanged = (report: NodeMACs): void => {
      for (const text of flappingMacs(report)) this.#check(text);
    };
    const all = (): void => {
      for (const report of nodeMacs.list()) reportChanged(report);
    };
    const stops = [
      this.#follow(instances, macsOfRunningInstance),
      this.#follow(pods, macsOfRunningPod),
      onManagementChange(caches, all),
      onEach(nodeMacs, reportChanged),
    ];
    try {
      await whileFollowing(caches, signal, stops, async () => {
        all();
        await aborted(signal);
      });
    } finally {
      this.#reported.clear();
      onCount(0);
    }
  }

  #follow(informer: Informer<KubeObject>, macsOf: (object: KubeObject) => readonly string[]): () => void {
    return onEach(informer, (object) => {
      for (const text of macsOf(object)) {
        if (this.#options.caches.nodeMacs.byIndex(BY_FLAPPING, text).length > 0) this.#check(text);
      }
    });
  }

  #check(text: string): void {
    const { caches, events, onCount } = this.#options;
    const mac = parseMac(text);
    if (mac === undefined || !caches.hasSynced) return;
    const affected = affectedBy(mac, caches);
    const affectedNow = affected
      .map(({ object, flap }) => `${object.uid} ${flap.node} ${flap.station.uplink}`)
      .sort()
      .join("\n");
    const known = this.#reported.get(mac);
    if (affectedNow === "") this.#reported.delete(mac);
    else this.#reported.set(mac, affectedNow);
    onCount(this.#reported.size);
    if (affectedNow === "" || affectedNow === known) return;
    for (const { object, flap } of affected) {
      events.event(regardingOf(object), "Warning", SEEN_ELSEWHERE_EVENT, seenElsewhere(mac, flap));
    }
  }
}

/** A managed object that runs and whose address is used beyond an uplink of its node too, and what that node says. */
export interface Affected {
  readonly object: RunningAt;
  readonly flap: Flap;
}

export function affectedBy(
  mac: Mac,
  caches: Pick<Caches, "instances" | "pods" | "nodeMacs" | "running" | "departures">,
): readonly Affected[] {
  const { instances, pods, nodeMacs, departures } = caches;
  const text = formatMac(mac);
  const flaps = flapsOf(mac, nodeMacs.byIndex(BY_FLAPPING, text));
  if (flaps.length === 0) return [];
  const seats = [instances, pods].flatMap((kind) => kind.byIndex(BY_RUNNING, text)).map(seatOfObject);
  const departedMs = departures.lastOf(text);
  const managed = caches.running(mac).filter(({ isManaged }) => isManaged);
  return managed.flatMap((object) => {
    const stored = (object.kind === "Pod" ? pods : instances).get(`${object.namespace}/${object.name}`);
    const seat = stored && seatOfObject(stored);
    const flap = flaps.find((one) => isElsewhere(seat, one, seats, departedMs));
    return flap === undefined ? [] : [{ object, flap }];
  });
}
