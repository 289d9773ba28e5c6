/** How many of something each namespace has. One of several namespaces counts in each of them. */
export class NamespaceCounts {
  readonly #counts = new Map<string, number>();

  in(namespace: string): number {
    return this.#counts.get(namespace) ?? 0;
  }

  change(namespaces: readonly string[], by: number): void {
    for (const namespace of namespaces) {
      const count = this.in(namespace) + by;
      if (count === 0) this.#counts.delete(namespace);
      else this.#counts.set(namespace, count);
    }
  }
}
