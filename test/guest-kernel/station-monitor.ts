/** The link monitor on a node in a guest, and what it says of stations. */
import { readFileSync } from "node:fs";
import { parseLinkEvent, type SeenStation } from "../../src/links/link-event.ts";
import { pluginPath } from "../netns/cni-call.ts";
import type { Holder } from "../netns/machine.ts";
import type { Namespace } from "../netns/testbed.ts";
import type { Guest } from "./guest.ts";

const QUERY = JSON.stringify({ ranges: [[0x02_5d_1c_00_00_00, 0x02_5d_1c_ff_ff_ff]], seed: 1 });

export const numberOf = (mac: string): number => Number.parseInt(mac.replaceAll(":", ""), 16);

export class StationMonitor implements AsyncDisposable {
  readonly #file: string;
  readonly #holder: Holder | undefined;

  private constructor(file: string, holder: Holder | undefined) {
    this.#file = file;
    this.#holder = holder;
  }

  /** `name`: of its own among the monitors of the guest. */
  static async start(guest: Guest, node: Namespace, name: string): Promise<StationMonitor> {
    const file = `${guest.shared}/stations-${name}`;
    const script = `mkfifo "$0.in" && { ${await pluginPath("link-monitor")} --bridges < "$0.in" > "$0" & } && exec 3> "$0.in"
      echo '${QUERY}' >&3
      echo && exec cat`;
    const argv = node.enter(["env", `PATH=${guest.path}`, "sh", "-ec", script, file]);
    return new StationMonitor(file, await guest.hold(argv));
  }

  /** All that it has said. */
  get text(): string {
    return readFileSync(this.#file, "utf8");
  }

  /** What it said last. */
  seen(): readonly SeenStation[] {
    const last = this.text
      .split("\n")
      .map(parseLinkEvent)
      .findLast((event) => event?.event === "stations");
    return last?.event === "stations" ? last.stations : [];
  }

  at(mac: string): SeenStation | undefined {
    return this.seen().find((station) => station.mac === numberOf(mac));
  }

  flaps(mac: string): boolean {
    return this.at(mac)?.flapAge !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#holder?.end();
  }
}
