/** A netlink socket over system calls: sends a batch, gives each request's answer. */

import { describeErrno, EAGAIN, ENOBUFS } from "./errno.ts";
import { MessageBatch } from "./message-batch.ts";
import { type Message, readAcknowledgement, readMessages } from "./message-reader.ts";
import { NETLINK_ROUTE, NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR } from "./rtnetlink.ts";

/** What the operating system must give. Each call throws an Error with `errno` when it fails. */
export interface NetlinkTransport {
  /** `netns`: a namespace's descriptor, or -1 for the own one. `groups`: multicast groups; with any it never blocks. */
  netlinkOpen(netns: number, groups: number, protocol: number): number;
  netlinkSend(fd: number, message: Uint8Array): void;
  /** One datagram into the buffer; its length. */
  netlinkReceive(fd: number, buffer: Uint8Array): number;
  close(fd: number): void;
}

/** The kernel refused a request. */
export class NetlinkError extends Error {
  readonly errno: number;
  readonly operation: string;

  constructor(operation: string, errno: number, text: string) {
    super(`the kernel refused to ${operation}: ${text === "" ? "" : `${text} `}(${describeErrno(errno)})`);
    this.errno = errno;
    this.operation = operation;
  }
}

export interface Answer {
  readonly error: NetlinkError | undefined;
  readonly messages: readonly Message[];
  /** The list changed while the kernel wrote it, so it may lack entries. */
  readonly interrupted: boolean;
}

class OpenAnswer implements Answer {
  error: NetlinkError | undefined;
  interrupted = false;
  readonly messages: Message[] = [];
  readonly #operation: string;
  readonly #visit: (message: Message) => void;

  constructor(operation: string, visit?: (message: Message) => void) {
    this.#operation = operation;
    this.#visit = visit ?? ((message) => this.messages.push(message));
  }

  /** Whether the message was the last of this answer. */
  accept(message: Message): boolean {
    if ((message.flags & NLM_F_DUMP_INTR) !== 0) this.interrupted = true;
    if (message.type !== NLMSG_ERROR && message.type !== NLMSG_DONE) {
      this.#visit(message);
      return false;
    }
    const { errno, text } = readAcknowledgement(message);
    if (errno !== 0) this.error = new NetlinkError(this.#operation, errno, text);
    return true;
  }
}

/** How often a list is asked for again that changed while the kernel wrote it. */
const INTERRUPTED_RETRIES = 20;

/** The kernel fills dumps in pieces of at most 32 KiB. */
const RECEIVE_BYTES = 32 * 1024;

/** One for all sockets: what was received is copied out of it at once. */
let receiveBuffer: Uint8Array | undefined;

export class NetlinkSocket {
  readonly #transport: NetlinkTransport;
  readonly #fd: number;
  #sequence = 1;

  constructor(transport: NetlinkTransport, netns = -1, groups = 0, protocol = NETLINK_ROUTE) {
    this.#transport = transport;
    this.#fd = transport.netlinkOpen(netns, groups, protocol);
  }

  get fd(): number {
    return this.#fd;
  }

  batch(): MessageBatch {
    return new MessageBatch(this.#sequence);
  }

  /** One answer for each request of the batch, in order. With `visit`, which gets each message as it comes, they keep none. */
  transact(batch: MessageBatch, visit?: (message: Message) => void): Answer[] {
    this.#sequence = batch.nextSequence;
    const answers = batch.operations.map((operation) => new OpenAnswer(operation, visit));
    for (const { bytes, requests } of batch.portions()) {
      this.#transport.netlinkSend(this.#fd, bytes);
      this.#answer(answers, batch, requests);
    }
    return answers;
  }

  /** Reads until so many more of the answers are complete. */
  #answer(answers: readonly OpenAnswer[], batch: MessageBatch, requests: number): void {
    for (let open = requests; open > 0; ) {
      for (const message of this.#receive()) {
        const answer = answers[message.sequence - batch.firstSequence];
        if (answer === undefined) throwBatchFailure(message);
        else if (answer.accept(message)) open--;
      }
    }
  }

  /** As `transact`, and throws the first error. */
  run(batch: MessageBatch): Answer[] {
    const answers = this.transact(batch);
    for (const { error } of answers) if (error !== undefined) throw error;
    return answers;
  }

  /** The answer to a request for a list. Asks again while the list changes. */
  dump(request: (batch: MessageBatch) => MessageBatch): Answer {
    for (let retries = INTERRUPTED_RETRIES; ; retries--) {
      const [answer] = this.transact(request(this.batch()));
      if (answer === undefined) throw new Error("a list was not asked for");
      if (!answer.interrupted || retries === 0) return answer;
    }
  }

  /** Multicast messages that are waiting; none when there are none. Throws ENOBUFS when the kernel dropped some. */
  receiveEvents(): Message[] {
    try {
      return this.#receive();
    } catch (error) {
      if (errnoOf(error) === EAGAIN) return [];
      throw error;
    }
  }

  /** For a caller that only needs to know that something changed. */
  dropEvents(): void {
    try {
      while (this.receiveEvents().length > 0);
    } catch (error) {
      if (errnoOf(error) !== ENOBUFS) throw error;
    }
  }

  close(): void {
    this.#transport.close(this.#fd);
  }

  #receive(): Message[] {
    receiveBuffer ??= new Uint8Array(RECEIVE_BYTES);
    const length = this.#transport.netlinkReceive(this.#fd, receiveBuffer);
    return readMessages(receiveBuffer.slice(0, length));
  }
}

/** What belongs to no request may be an answer to the batch as a whole. */
function throwBatchFailure(message: Message): void {
  if (message.sequence !== 0 || message.type !== NLMSG_ERROR) return;
  const { errno, text } = readAcknowledgement(message);
  if (errno !== 0) throw new NetlinkError("apply a transaction", errno, text);
}

/** The errno of a failed system call or a refused request; undefined for any other error. */
export function errnoOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("errno" in error)) return undefined;
  return typeof error.errno === "number" ? error.errno : undefined;
}
