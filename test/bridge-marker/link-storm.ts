/** Link events by the thousand: bridges get new names and their old ones back. */
import type { NetworkNamespace } from "./network-namespace.ts";

/** What a second has at least. A little more is made, for the time between two batches. */
export const EVENTS_PER_SECOND = 1000;
const BATCH_EVENTS = 1100;
const BRIDGES: readonly string[] = Array.from({ length: 10 }, (_, index) => `s${index}`);

export interface LinkStorm {
  readonly bridges: readonly string[];
  /** Rages for so many seconds, and gives how many events a second there were. All bridges have their names afterwards. */
  rage(seconds: number): Promise<number>;
}

/** Makes its bridges. */
export async function linkStorm(namespace: NetworkNamespace): Promise<LinkStorm> {
  for (const bridge of BRIDGES) await namespace.run("ip", "link", "add", bridge, "type", "bridge");
  const rename = (from: string, to: string) =>
    BRIDGES.map((name) => `link set ${from}${name} name ${to}${name}`).join("\n");
  const rounds = BATCH_EVENTS / BRIDGES.length / 2;
  const second = Array.from({ length: rounds }, () => `${rename("", "x")}\n${rename("x", "")}`).join("\n");
  return {
    bridges: BRIDGES,
    rage: async (seconds) => {
      const batch = "printf '%s\\n' \"$0\" | ip -b - & renaming=$!; sleep 1; wait $renaming && done=$((done + 1))";
      const startedAt = performance.now();
      const done = await namespace.run(
        "sh",
        "-c",
        `done=0; for second in $(seq ${seconds}); do ${batch}; done; echo $done`,
        second,
      );
      return (Number(done) * BATCH_EVENTS) / ((performance.now() - startedAt) / 1000);
    },
  };
}
