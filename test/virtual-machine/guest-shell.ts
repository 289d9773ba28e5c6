/** The shell of a guest behind a serial port: init.sh is at the other end. Commands run one after the other. */

import { ControlSocket } from "./control-socket.ts";

export interface CommandOutcome {
  readonly code: number;
  readonly output: string;
}

const READY_MARK = "@ready";
const EXIT_MARK = "@exit ";

export class GuestShell implements AsyncDisposable {
  readonly #ready = Promise.withResolvers<void>();
  #socket: ControlSocket | undefined;
  #output: string[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #exited: ((code: number) => void) | undefined;

  static async listen(path: string): Promise<GuestShell> {
    const shell = new GuestShell();
    shell.#socket = await ControlSocket.listen(path, (line) => shell.#read(line.trimEnd()));
    return shell;
  }

  /** Fulfilled when the guest has booted. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** `command`: one line. */
  run(command: string): Promise<CommandOutcome> {
    const outcome = this.#last.then(async () => {
      this.#output = [];
      const exit = new Promise<number>((resolve) => {
        this.#exited = resolve;
      });
      await this.#socket?.send(command);
      return { code: await exit, output: this.#output.join("\n") };
    });
    this.#last = outcome.catch(() => {});
    return outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#socket?.[Symbol.asyncDispose]();
  }

  #read(line: string): void {
    if (line === READY_MARK) this.#ready.resolve();
    else if (line.startsWith(EXIT_MARK)) this.#exited?.(Number(line.slice(EXIT_MARK.length)));
    else this.#output.push(line);
  }
}
