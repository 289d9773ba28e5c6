import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import type { ClaimView, CollisionView, ListView } from "../../src/mac-pool/inspection/rest/views.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { Random } from "../support/random.ts";
import { shareOf } from "../support/share.ts";
import { CHROMIUM, show, takePicture } from "./chromium.ts";
import { PageHarness } from "./page-harness.ts";

const STEPS = 40;
const SEEDS = shareOf([1, 2]);
/** Every row of the table is in sight. */
const TALL = { viewport: { width: 1920, height: 4_000 } };
const SHORT: Readonly<Record<string, string>> = { VirtualMachine: "VM", VirtualMachineInstance: "VMI" };

interface Party {
  readonly kind: string;
  readonly namespace: string;
  readonly name?: string;
}

describe.skipIf(CHROMIUM === undefined)("the page in a browser, after a random history", () => {
  let harness: PageHarness;
  let token: string;
  beforeAll(async () => {
    harness = await PageHarness.start();
    token = await harness.reader("viewer");
  });
  afterAll(async () => {
    await harness?.[Symbol.asyncDispose]();
  });

  async function told<T>(page: Page, path: string): Promise<readonly T[]> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await page.request.get(`${harness.url}api/v1/${path}`, { headers });
    return ((await answer.json()) as ListView<T>).items;
  }

  const shown = <T>(page: Page, script: string): Promise<T> => page.evaluate(script) as Promise<T>;
  const nameOf = ({ kind, namespace, name = "" }: Party): string => `${SHORT[kind] ?? kind} ${namespace}/${name}`;

  /** The cells of the table of addresses but for the time. */
  const rowsOf = (page: Page): Promise<string[][]> =>
    shown(
      page,
      `[...document.querySelectorAll(".virtual tbody tr:not(.gap)")]
        .map((row) => [...row.cells].slice(0, 7).map((cell) => cell.textContent.trim()))`,
    );

  function rowOf({ mac, owners, phase, origin, inRange }: ClaimView): string[] {
    const [first] = owners;
    const more = owners.length > 1 ? ` +${owners.length - 1}` : "";
    const owner = first === undefined ? "none" : `${nameOf(first)}${more}`;
    const place = [first?.interface ?? "", first?.network ?? "", first?.node ?? ""];
    return [mac, owner, ...place, phase, inRange ? origin : `${origin}, outside`];
  }

  const cardsOf = (page: Page): Promise<string[][]> =>
    shown(
      page,
      `[...document.querySelectorAll("main .card")]
        .map((card) => [...card.querySelectorAll("h3, .card li .owner")].map((part) => part.textContent.trim()))`,
    );

  const headingOf = ({ mac, parties: [first, ...others] }: CollisionView): string =>
    `${first && nameOf(first)}${others.length > 0 ? ` and ${others.length} more` : ""}: ${mac}`;

  async function play(seed: number): Promise<void> {
    const namespace = `lab-${seed}`;
    await harness.pool.admin.create(RESOURCES.namespaces, { metadata: { name: namespace } });
    const random = new Random(seed);
    const [machines, guests]: [string[], string[]] = [[], []];
    const taken = (names: string[]): string => names.splice(random.below(names.length), 1)[0] ?? "";
    for (let step = 0; step < STEPS; step++) {
      const what = random.weighted({
        create: 5,
        delete: machines.length > 3 ? 3 : 0,
        run: 3,
        stop: guests.length > 3 ? 3 : 0,
      });
      if (what === "create") {
        const own = random.chance(0.3) ? { macAddress: `02:aa:00:00:0${seed}:${(16 + step).toString(16)}` } : {};
        await harness.createMachine(`vm-${step}`, [{ name: "a", ...own }, { name: "b" }], namespace);
        machines.push(`vm-${step}`);
      } else if (what === "delete") {
        await harness.pool.admin.delete(KINDS.virtualMachines, { name: taken(machines), namespace });
      } else if (what === "run") {
        await harness.runGuest(`guest-${step}`, `02:bb:00:00:00:0${random.below(2)}`, namespace);
        guests.push(`guest-${step}`);
      } else {
        await harness.stopGuest(taken(guests), namespace);
      }
    }
  }

  it.each(SEEDS)("lists the addresses and collisions that REST lists: seed %i", async (seed) => {
    await play(seed);
    await using opened = await harness.openAs(token, "#/addresses", TALL);
    const { page } = opened;
    await eventually("the page has the rows of REST", async () => {
      const rows = (await told<ClaimView>(page, "claims?limit=5000")).map(rowOf);
      expect(await rowsOf(page)).toEqual(rows);
      return rows.length > 20;
    });
    await takePicture(page, `history-${seed}-addresses`);
    await show(page, "#/collisions");
    await eventually("the page has the collisions of REST", async () => {
      const collisions = await told<CollisionView>(page, "collisions");
      expect(await cardsOf(page)).toEqual(collisions.map((each) => [headingOf(each), ...each.parties.map(nameOf)]));
      return collisions.length > 0;
    });
    await takePicture(page, `history-${seed}-collisions`);
    expect(opened.faults).toEqual([]);
  });
});
