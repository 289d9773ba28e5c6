/** QEMU's own control channel (QMP): commands with their answers, and events. One JSON document a line. */

import { ControlSocket } from "./control-socket.ts";

export interface QmpEvent {
  readonly event: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

interface QmpMessage extends Partial<QmpEvent> {
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly class: string; readonly desc: string };
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class Qmp implements AsyncDisposable {
  readonly #waiting = new Map<number, Waiting>();
  readonly #events: QmpEvent[] = [];
  readonly #listeners = new Set<(event: QmpEvent) => void>();
  #socket: ControlSocket | undefined;
  #asked = 0;

  static async listen(path: string): Promise<Qmp> {
    const qmp = new Qmp();
    qmp.#socket = await ControlSocket.listen(path, (line) => qmp.#read(JSON.parse(line)));
    return qmp;
  }

  execute(command: string, args: object = {}): Promise<unknown> {
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket?.send(JSON.stringify({ execute: command, arguments: args, id })).catch(reject);
    });
  }

  /** The first event for which this holds, also one that came before. */
  event(matches: (event: QmpEvent) => boolean): Promise<QmpEvent> {
    const before = this.#events.find(matches);
    if (before !== undefined) return Promise.resolve(before);
    return new Promise((resolve) => {
      const listener = (event: QmpEvent) => {
        if (!matches(event)) return;
        this.#listeners.delete(listener);
        resolve(event);
      };
      this.#listeners.add(listener);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#socket?.[Symbol.asyncDispose]();
  }

  #read(message: QmpMessage): void {
    if (message.event !== undefined) {
      const event = message as QmpEvent;
      this.#events.push(event);
      for (const listener of this.#listeners) listener(event);
      return;
    }
    if (message.id === undefined) return;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.return);
    else waiting?.reject(new Error(`QEMU refused: ${message.error.desc}`));
  }
}
