import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { eventually } from "../../support/eventually.ts";
import { inFlight } from "../../support/in-flight.ts";
import { megabytesOf } from "../../support/process-usage.ts";
import { PoolFixture } from "../pool-fixture.ts";
import { viewerToken } from "../viewer-token.ts";
import { Attacker } from "./attacker.ts";
import { forgedReview } from "./attacks.ts";

const ROUNDS = 10;
/** As many as one user may have open. */
const WATCHES = 100;
const REVIEWS = 4;
const INTERFACES = 103;
/** As many as a feed keeps. Where the machine is busy, some reviews have no answer in time. */
const MOST_CHANGES = ROUNDS * REVIEWS * INTERFACES;
/** The events of a round, kept for each of its filters, are 100 MB. A collector may not have run for that long. */
const MAX_GROWTH_MB = 100;
const ADDED = '"type":"ADDED"';

describe("a replica whose claims are watched with a thousand filters", () => {
  let fixture: PoolFixture;
  let pid: number;
  let token: string;
  const agent = new Agent({ rejectUnauthorized: false });

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    pid = await fixture.startReplica("one");
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    token = await viewerToken(fixture, "watcher", "cluster");
    for (let round = 0; round <= ROUNDS; round++) {
      await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: `watched-${round}` } });
    }
  });
  afterAll(async () => {
    agent.destroy();
    await fixture?.[Symbol.asyncDispose]();
  });

  /** Each finds every address, and each is another text. */
  const filterOf = (number: number): string => `02${number.toString(2).replaceAll("0", ".").replaceAll("1", ":")}`;

  interface Watched {
    readonly asked: ClientRequest;
    /** Whether it was told of so many claims, or has ended because it reads too slowly. */
    readonly isOver: (claims: number) => boolean;
  }

  async function watched(filter: string): Promise<Watched> {
    const url = `${fixture.inspectionUrl("one")}/api/v1/claims?watch=true&mac=${encodeURIComponent(filter)}`;
    const asked = request(url, { agent, headers: { authorization: `Bearer ${token}` } });
    asked.on("error", () => {});
    const [answer] = (await once(asked.end(), "response")) as [IncomingMessage];
    let [events, tail] = [0, ""];
    answer
      .on("error", () => {})
      .on("data", (data: Buffer) => {
        const text = `${tail}${data}`;
        events += text.split(ADDED).length - 1;
        tail = text.slice(1 - ADDED.length);
      });
    if (answer.statusCode === 200) return { asked, isOver: (claims) => events >= claims || answer.closed };
    asked.destroy();
    throw new Error(`status ${answer.statusCode}`);
  }

  /** Some watches with filters of their own, new claims that all of them are told, and their end. Resolves with how many claims. */
  async function round(number: number, watches: number): Promise<number> {
    const open = await inFlight(8, watches, (watch) =>
      eventually("a watch is open", () => watched(filterOf(1_024 + number * WATCHES + watch))),
    );
    // One after the other: a viewer for whom too much waits is dropped.
    using attacker = new Attacker();
    const port = Number(new URL(fixture.httpsUrl("one")).port);
    const namespace = `watched-${number}`;
    await attacker.requests(port, REVIEWS, 1, (i) => forgedReview(namespace, `m-${i}`, INTERFACES));
    const isOwn = ({ status }: MACClaim): boolean => status?.owners[0]?.namespace === namespace;
    const claims = (await fixture.claims()).filter(isOwn).length;
    await eventually("each watch is told of every claim", () => open.every(({ isOver }) => isOver(claims)));
    for (const { asked } of open) asked.destroy();
    return claims;
  }

  it("keeps nothing of what it told them", async () => {
    // What a replica that has never worked takes for its work is nobody's text.
    await round(ROUNDS, WATCHES);
    const beforeMb = megabytesOf(pid);
    let claims = 0;
    for (let number = 0; number < ROUNDS; number++) claims += await round(number, WATCHES);
    expect(claims).toBeGreaterThan(MOST_CHANGES / 2);
    await expect.poll(() => megabytesOf(pid)).toBeLessThan(beforeMb + MAX_GROWTH_MB);
  }, 600_000);
});
