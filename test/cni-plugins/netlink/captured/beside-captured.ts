/**
 * Our requests beside those that iproute2, nft and the reference plugins sent (`requests.json`, captured with strace, the
 * message's number and the socket's set to 0): the same, but for differences that are named with their reasons.
 */

import { describe, expect, it } from "vitest";
import { MessageBatch } from "../../../../cni-plugins/netlink/message-batch.ts";
import { requestLines } from "./request-lines.ts";
import captured from "./requests.json" with { type: "json" };

type Group = "link" | "port" | "address" | "vlan" | "nftables";

export interface Beside {
  readonly asked: string;
  readonly ours: (batch: MessageBatch) => MessageBatch;
  /** Lines of `requestLines`: "+" and one that only ours has, "-" and one that only theirs has; and why it may be so. */
  readonly but?: Readonly<Record<string, string>>;
}

/** `unmatched`: captured requests that ours has no counterpart of, and why. */
export function describeBeside(
  group: Group,
  all: readonly Beside[],
  unmatched: Readonly<Record<string, string>>,
): void {
  const requests = [...captured.requests, ...captured.inGuest].filter((one) => one.group === group);

  describe(`requests of iproute2 ${captured.iproute2}, nft ${captured.nft} and the reference ${captured.reference}`, () => {
    it.each(all.map((one) => [one.asked, one] as const))("%s", (asked, { ours, but = {} }) => {
      const request = requests.find((one) => one.asked === asked)?.request;
      if (request === undefined) throw new Error(`${asked} was not captured`);
      const [own, theirs] = [requestLines(hex(ours)), requestLines(request)];
      const only = (sign: string, lines: string[], others: string[]) =>
        lines.filter((line) => !others.includes(line)).map((line) => `${sign}${line}`);
      expect([...only("+", own, theirs), ...only("-", theirs, own)].sort()).toEqual(Object.keys(but).sort());
    });

    it("all have a counterpart or a reason why not", () => {
      const compared = all.map(({ asked }) => asked);
      const named = [...compared, ...Object.keys(unmatched)].sort();
      expect(named).toEqual(requests.map(({ asked }) => asked).sort());
    });
  });
}

function hex(write: (batch: MessageBatch) => MessageBatch): string {
  return Buffer.from(write(new MessageBatch()).encode()).toString("hex");
}
