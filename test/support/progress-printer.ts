/** Prints how far a build is, a line for each tenth of the way: this goes into logs. */
import type { BuildProgress } from "../cluster/control-plane/build-progress.ts";

export class ProgressPrinter {
  readonly #what: string;
  readonly #say: (line: string) => void;
  #last = "";

  constructor(what: string, say: (line: string) => void) {
    this.#what = what;
    this.#say = say;
  }

  readonly print = ({ phase, program, percent }: BuildProgress): void => {
    const step = `${phase}${program === undefined ? "" : ` ${program}`}`;
    const tenth = `${step} ${Math.floor(percent / 10)}`;
    if (tenth === this.#last) return;
    this.#last = tenth;
    this.#say(`${this.#what}: ${step} (${percent}%)`);
  };
}
