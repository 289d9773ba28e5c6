/** The way of an interface from its request to its frames: `kubectl macpool explain` prints it, and `kubectl macpool ui` serves it. */

export const STEPS = ["accepted", "network", "bridge", "scheduled", "attached", "kernel", "alone", "frames"] as const;

/** One station between the request for an interface and the frames on the wire, and what is known about it. */
export interface Step {
  readonly step: (typeof STEPS)[number];
  readonly state: "ok" | "wrong" | "unknown";
  readonly text: string;
  readonly remedy?: string;
}

/** The steps of one interface. */
export interface Way {
  readonly interface: string;
  readonly steps: readonly Step[];
}

/** The page asks for `api/v1/ways/KIND/NAMESPACE/NAME`, which answers `WaysView`, where answers have this header. */
export const WAYS = "ways";
export const WAYS_HEADER = "macpool-ways";
/** The namespace of the user's kubeconfig, where `kubectl macpool ui` serves the page: who may not read all of them begins there. */
export const NAMESPACE_HEADER = "macpool-namespace";

export interface WaysView {
  readonly way: readonly Way[];
}
