/** Link events by the thousand: bridges get new names and their old ones back. */
import type { NetworkNamespace } from "./network-namespace.ts";

const EVENTS_PER_SECOND = 1000;
const BRIDGES: readonly string[] = Array.from({ length: 10 }, (_, index) => `s${index}`);

export interface LinkStorm {
  readonly bridges: readonly string[];
  /** Rages for so many seconds. All bridges have their names afterwards. */
  rage(seconds: number): Promise<void>;
}

/** Makes its bridges. */
export async function linkStorm(namespace: NetworkNamespace): Promise<LinkStorm> {
  for (const bridge of BRIDGES) await namespace.run("ip", "link", "add", bridge, "type", "bridge");
  const rename = (from: string, to: string) =>
    BRIDGES.map((name) => `link set ${from}${name} name ${to}${name}`).join("\n");
  const rounds = EVENTS_PER_SECOND / BRIDGES.length / 2;
  const second = Array.from({ length: rounds }, () => `${rename("", "x")}\n${rename("x", "")}`).join("\n");
  return {
    bridges: BRIDGES,
    rage: async (seconds) => {
      const script = `for second in $(seq ${seconds}); do printf '%s\\n' "$0" | ip -b - & sleep 1; wait; done`;
      await namespace.run("sh", "-c", script, second);
    },
  };
}
