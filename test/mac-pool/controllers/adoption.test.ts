import { expect, it } from "vitest";
import { silentLog } from "../../../src/kube/log.ts";
import { Adoption, type AdoptionProgress, type Unclaimed } from "../../../src/mac-pool/controllers/adoption.ts";
import { ManualClock } from "../../kube/support/manual-clock.ts";

function fixture() {
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = { ...silentLog, info: (fields: object, text: string) => lines.push(`${text} ${JSON.stringify(fields)}`) };
  const told: AdoptionProgress[] = [];
  const onProgress = (_: string, progress: AdoptionProgress): void => void told.push(progress);
  return { clock, lines, told, adoption: new Adoption({ clock, log: log as never, onProgress }) };
}

const unclaimed = (owner: string, ...claims: string[]): Unclaimed[] =>
  claims.map((claim) => ({ claim, pool: "default", owner }));

it("counts an object once all of its addresses have a claim", () => {
  const { adoption } = fixture();
  expect(adoption.progress("default")).toBeUndefined();
  adoption.begin([...unclaimed("a", "1", "2"), ...unclaimed("b", "2")]);
  adoption.settle("1");
  expect(adoption.progress("default")).toMatchObject({ owners: 2, adopted: 0 });
  adoption.settle("2");
  adoption.settle("2");
  expect(adoption.progress("default")).toMatchObject({ owners: 2, adopted: 2 });
  expect(adoption.progress("other")).toMatchObject({ owners: 0, adopted: 0 });
});

it("goes on with what comes in meanwhile, and begins anew after the end", () => {
  const { adoption, told } = fixture();
  adoption.begin(unclaimed("a", "1"));
  adoption.begin([...unclaimed("a", "1"), ...unclaimed("b", "2")]);
  expect(told.at(-1)).toMatchObject({ owners: 2, adopted: 0 });
  adoption.settle("1");
  adoption.settle("2");
  adoption.begin([]);
  expect(adoption.progress("default")).toMatchObject({ owners: 2, adopted: 2 });
  adoption.begin(unclaimed("c", "3"));
  expect(adoption.progress("default")).toMatchObject({ owners: 1, adopted: 0 });
});

it("writes to the log when it begins, every ten seconds at most, and at the end with the seconds", async () => {
  const { adoption, clock, lines } = fixture();
  const claims = Array.from({ length: 100 }, (_, number) => String(number));
  adoption.begin(claims.flatMap((claim) => unclaimed(claim, claim)));
  for (const claim of claims) {
    await clock.advance(250);
    adoption.settle(claim);
  }
  expect(lines).toEqual([
    'adopting objects whose addresses have no claim {"owners":100,"addresses":100}',
    'adopting {"owners":100,"adopted":40,"seconds":10}',
    'adopting {"owners":100,"adopted":80,"seconds":20}',
    'adopted all objects whose addresses had no claim {"owners":100,"adopted":100,"seconds":25}',
  ]);
});
