import { LinkTable } from "./link-table.ts";

/** A bridge of the node; `index` is that of the link. */
export interface Bridge {
  readonly index: number;
  readonly name: string;
}

/** The bridges of the node. */
export class BridgeTable extends LinkTable<string> {
  constructor() {
    super(({ kind, name }) => (kind === "bridge" ? name : undefined));
  }

  /** By index, lowest first. */
  bridges(): Bridge[] {
    return this.entries().map(([index, name]) => ({ index, name }));
  }
}
