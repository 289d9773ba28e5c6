import { LinkTable } from "./link-table.ts";

/** The node's links that are ports, of bridges or bonds. */
export class PortTable extends LinkTable<number> {
  constructor() {
    super(({ master }) => (master === 0 ? undefined : master));
  }

  /** Indexes of the links that have ports. */
  masters(): ReadonlySet<number> {
    return new Set(this.entries().map(([, master]) => master));
  }
}
