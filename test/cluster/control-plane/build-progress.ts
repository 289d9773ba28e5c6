/** How far a build of several Go programs is, from the packages that were seen. Pure. */

export interface BuildProgress {
  readonly phase: "waiting for another build" | "downloading modules" | "building" | "done";
  /** The program being built. */
  readonly program?: string;
  /** 0 to 100, an estimate by number of packages; linking counts as LINK_WEIGHT packages. */
  readonly percent: number;
}

/** Linking one of these programs takes about as long as compiling so many packages. */
const LINK_WEIGHT = 150;

export class PackageCount {
  readonly #dependencies: ReadonlyMap<string, readonly string[]>;
  readonly #done = new Set<string>();
  readonly #total: number;
  #linked = 0;

  constructor(dependencies: ReadonlyMap<string, readonly string[]>) {
    this.#dependencies = dependencies;
    this.#total = new Set([...dependencies.values()].flat()).size + dependencies.size * LINK_WEIGHT;
  }

  compiled(importPath: string): void {
    this.#done.add(importPath);
  }

  /** All packages of a finished program count, also those that came from Go's build cache. */
  linked(main: string): void {
    for (const dependency of this.#dependencies.get(main) ?? []) this.#done.add(dependency);
    this.#linked += 1;
  }

  get percent(): number {
    const done = this.#done.size + this.#linked * LINK_WEIGHT;
    return Math.min(99, Math.floor((100 * done) / Math.max(1, this.#total)));
  }
}
