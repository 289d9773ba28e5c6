/**
 * While a run is sealed, the process's own clocks, timers and randomness throw. So a run depends on its seed alone, or it
 * ends at the line that uses something else.
 */

const SEALED = [
  [Math, "random"],
  [Date, "now"],
  [performance, "now"],
  [globalThis, "setTimeout"],
  [globalThis, "setInterval"],
] as const satisfies readonly (readonly [object, string])[];

export class Seal {
  #restore: (() => void)[] = [];
  #broken: Error | undefined;

  close(): void {
    if (this.#restore.length > 0) return;
    this.#restore = SEALED.map(([owner, name]) => {
      const real = Object.getOwnPropertyDescriptor(owner, name) ?? { value: Reflect.get(owner, name), writable: true };
      const value = (): never => {
        this.#broken ??= new Error(`${name} was used, which has nothing to do with the seed`);
        throw this.#broken;
      };
      Object.defineProperty(owner, name, { configurable: true, writable: true, enumerable: true, value });
      return () => Object.defineProperty(owner, name, { ...real, configurable: true });
    });
  }

  open(): void {
    for (const restore of this.#restore.splice(0)) restore();
  }

  /** Throws what broke the seal, also where the code that did it has swallowed the error. */
  check(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }
}
