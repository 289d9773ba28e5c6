import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Certificate, formatBundle, isSignedBy, type KeyPair, parseBundle } from "../../src/certs/certificate.ts";
import { issueCa, issueServing } from "../../src/certs/issuer.ts";
import {
  type Action,
  type Intervals,
  LOST_SETTLE_MS,
  type Observed,
  type Plan,
  planCertificates,
} from "../../src/certs/plan.ts";
import { share } from "../support/share.ts";

const HOUR_MS = 3_600_000;
const intervals: Intervals = {
  caRotateMs: 48 * HOUR_MS,
  caOverlapMs: 24 * HOUR_MS,
  certRotateMs: 24 * HOUR_MS,
  certOverlapMs: 12 * HOUR_MS,
};
const dnsNames = ["hook.ns.svc", "hook.ns"] as const;

/** The objects the plan is about, and nothing else: an API server that keeps them. */
class World {
  nowMs = Date.UTC(2026, 0, 1);
  ca: { pair: KeyPair | undefined; trusted: Certificate[] } | undefined = { pair: undefined, trusted: [] };
  serving: { pair: KeyPair | undefined } | undefined = { pair: undefined };
  configurations: { configuration: string; caBundles: string[] }[] = [
    { configuration: "Mutating/a", caBundles: ["", ""] },
    { configuration: "Validating/b", caBundles: [""] },
  ];
  log: string[] = [];
  intervals: Intervals;

  constructor(initial: Intervals = intervals) {
    this.intervals = initial;
  }

  plan(): Plan {
    const observed: Observed = { ...this, dnsNames };
    return planCertificates(observed, this.intervals);
  }

  /** Acts until nothing is left to do now; more steps than any repair needs is a loop. */
  async settle(): Promise<Plan> {
    for (let step = 0; step < 8; step++) {
      const plan = this.plan();
      if (plan.actions.length === 0) return plan;
      for (const action of plan.actions) await this.act(action);
    }
    throw new Error(`the plan never settles: ${this.log.slice(-8).join(", ")}`);
  }

  /** Whether it is ready before each write, and after the last one. */
  async readiness(): Promise<boolean[]> {
    const ready = [this.plan().ready];
    for (let [action] = this.plan().actions; action !== undefined; [action] = this.plan().actions) {
      await this.act(action);
      ready.push(this.plan().ready);
    }
    return ready;
  }

  async act(action: Action): Promise<void> {
    this.log.push(action.kind);
    if (action.kind === "make-ca") {
      const pair = issueCa({ commonName: "hook CA", nowMs: this.nowMs, lifetimeMs: action.lifetimeMs });
      this.ca = { pair, trusted: [pair.certificate, ...action.keep] };
    } else if (action.kind === "write-trusted" && this.ca !== undefined) {
      this.ca = { ...this.ca, trusted: [...action.trusted] };
    } else if (action.kind === "write-bundle") {
      for (const entry of this.configurations) {
        if (entry.configuration === action.configuration) entry.caBundles = entry.caBundles.map(() => action.bundle);
      }
    } else if (action.kind === "make-serving") {
      this.serving = {
        pair: issueServing({ ca: action.signer, dnsNames, nowMs: this.nowMs, lifetimeMs: action.lifetimeMs }),
      };
    }
  }

  /** Whether an API server that has these caBundles accepts the certificate in service. */
  trusts(): boolean {
    const certificate = this.serving?.pair?.certificate;
    if (certificate === undefined || certificate.notAfterMs <= this.nowMs) return false;
    return this.configurations.every(({ caBundles }) =>
      caBundles.every((text) =>
        parseBundle(text).some((ca) => ca.notAfterMs > this.nowMs && isSignedBy(certificate, ca)),
      ),
    );
  }
}

describe("the plan of a webhook's certificates", () => {
  it("makes the CA, then the caBundles, then the serving certificate", async () => {
    const world = new World();
    const plan = await world.settle();
    expect(world.log).toEqual(["make-ca", "write-bundle", "write-bundle", "make-serving"]);
    expect(plan.ready).toBe(true);
    expect(world.trusts()).toBe(true);
    expect(plan.nextMs).toBe(world.nowMs + intervals.certRotateMs);
  });

  it("writes nothing while nothing changes", async () => {
    const world = new World();
    await world.settle();
    world.log = [];
    world.nowMs += intervals.certRotateMs - 1000;
    await world.settle();
    expect(world.log).toEqual([]);
  });

  it("waits for Secrets that are not there and says for which", () => {
    const world = new World();
    world.ca = undefined;
    expect(world.plan()).toMatchObject({
      actions: [],
      ready: false,
      waitingFor: expect.stringContaining("CA's Secret"),
    });
  });

  it("issues the serving certificate although a webhook configuration does not exist yet", async () => {
    const world = new World();
    world.configurations = [];
    await world.settle();
    expect(world.log).toEqual(["make-ca", "make-serving"]);
    world.configurations = [{ configuration: "Mutating/a", caBundles: [""] }];
    await world.settle();
    expect(world.trusts()).toBe(true);
  });

  it("fills an emptied caBundle again and throws a foreign CA out of it", async () => {
    const world = new World();
    await world.settle();
    const bundle = world.configurations[0]?.caBundles[0] ?? "";
    const foreign = issueCa({ commonName: "foreign", nowMs: world.nowMs, lifetimeMs: HOUR_MS });
    world.log = [];
    world.configurations[0]?.caBundles.splice(0, 2, "", bundle + foreign.certificate.pem);
    await world.settle();
    expect(world.log).toEqual(["write-bundle"]);
    expect(world.configurations[0]?.caBundles).toEqual([bundle, bundle]);
  });

  it("goes on serving when the CA's Secret was emptied: the old CA stays trusted until its time is over", async () => {
    const world = new World();
    await world.settle();
    const old = world.ca?.pair?.certificate;
    const serving = world.serving?.pair?.certificate.fingerprint;
    world.ca = { pair: undefined, trusted: [] };
    world.log = [];
    await world.settle();
    expect(world.log).toEqual(["make-ca", "write-bundle", "write-bundle"]);
    expect(world.serving?.pair?.certificate.fingerprint).toBe(serving);
    expect(world.trusts()).toBe(true);
    expect(world.ca?.trusted.map(({ fingerprint }) => fingerprint)).toContain(old?.fingerprint);
  });

  it("keeps what replicas have in memory trusted when both Secrets were emptied at once", async () => {
    const world = new World();
    await world.settle();
    const inMemory = world.serving?.pair?.certificate;
    world.ca = { pair: undefined, trusted: [] };
    world.serving = { pair: undefined };
    world.log = [];
    expect((await world.settle()).ready).toBe(false);
    expect(world.log).toEqual(["make-ca", "write-bundle", "write-bundle"]);
    const bundle = parseBundle(world.configurations[0]?.caBundles[0] ?? "");
    expect(bundle).toHaveLength(2);
    expect(bundle.some((ca) => inMemory !== undefined && isSignedBy(inMemory, ca))).toBe(true);
    world.nowMs += LOST_SETTLE_MS;
    expect((await world.settle()).ready).toBe(true);
    expect(world.log.at(-1)).toBe("make-serving");
    expect(world.trusts()).toBe(true);
  });

  it("replaces a serving certificate that was put there by somebody else", async () => {
    const world = new World();
    await world.settle();
    const foreign = issueCa({ commonName: "foreign", nowMs: world.nowMs, lifetimeMs: HOUR_MS });
    const pair = issueServing({ ca: foreign, dnsNames, nowMs: world.nowMs, lifetimeMs: HOUR_MS });
    world.serving = { pair };
    world.log = [];
    await world.settle();
    expect(world.log).toEqual(["make-serving"]);
    expect(world.trusts()).toBe(true);
  });

  it("replaces a serving certificate that is for other names", async () => {
    const world = new World();
    await world.settle();
    const ca = world.ca?.pair;
    if (ca === undefined) throw new Error("no CA");
    world.serving = {
      pair: issueServing({ ca, dnsNames: ["other.ns.svc"], nowMs: world.nowMs, lifetimeMs: HOUR_MS }),
    };
    await world.settle();
    expect(world.serving?.pair?.certificate.dnsNames).toEqual([...dnsNames]);
  });

  it("lets a rotated CA be seen before it signs, and drops the old one when it has expired", async () => {
    const world = new World();
    await world.settle();
    const first = world.ca?.pair?.certificate;
    world.nowMs += intervals.caRotateMs;
    world.log = [];
    const plan = await world.settle();
    expect(world.log.slice(0, 3)).toEqual(["make-ca", "write-bundle", "write-bundle"]);
    expect(world.trusts()).toBe(true);
    expect(plan.nextMs).toBeGreaterThan(world.nowMs);
    world.nowMs = (first?.notAfterMs ?? 0) + 1000;
    await world.settle();
    expect(world.ca?.trusted.map(({ fingerprint }) => fingerprint)).not.toContain(first?.fingerprint);
    expect(world.configurations[0]?.caBundles[0]).toBe(formatBundle(world.ca?.trusted ?? []));
    expect(world.trusts()).toBe(true);
  });

  it("is ready as long as API servers accept the certificate, at each step of a rotation and of a repair", async () => {
    const world = new World();
    expect(await world.readiness()).toEqual([false, false, false, false, true]);
    world.nowMs += intervals.certRotateMs;
    expect(await world.readiness()).toEqual([true, true]);
    world.nowMs += intervals.caRotateMs - intervals.certRotateMs;
    expect(await world.readiness()).toEqual([true, true, true, true]);
    expect(world.log.slice(5)).toEqual(["make-ca", "write-bundle", "write-bundle"]);
    const bundle = world.configurations[0]?.caBundles[0] ?? "";
    const foreign = issueCa({ commonName: "foreign", nowMs: world.nowMs, lifetimeMs: HOUR_MS });
    world.configurations[0]?.caBundles.splice(0, 2, bundle, bundle + foreign.certificate.pem);
    expect(await world.readiness()).toEqual([true, true]);
    world.configurations[0]?.caBundles.splice(0, 2, bundle, foreign.certificate.pem);
    expect(await world.readiness()).toEqual([false, true]);
  });

  it("lets shortened intervals hold at once", async () => {
    const world = new World();
    await world.settle();
    world.nowMs += 2 * HOUR_MS;
    world.intervals = { caRotateMs: HOUR_MS, caOverlapMs: HOUR_MS, certRotateMs: HOUR_MS, certOverlapMs: HOUR_MS };
    world.log = [];
    await world.settle();
    expect(world.log).toContain("make-ca");
    world.nowMs += 60_000;
    await world.settle();
    expect(world.log).toContain("make-serving");
    expect(world.trusts()).toBe(true);
  });

  it("is trusted at every moment, with bounded work, whatever the intervals", async () => {
    const cases = fc.integer({ min: 2, max: 600 }).chain((caRotate) =>
      fc.record({
        unitMs: fc.constantFrom(1000, 60_000),
        caRotate: fc.constant(caRotate),
        caOverlap: fc.integer({ min: 1, max: caRotate }),
        certRotate: fc.integer({ min: 1, max: caRotate }),
        overlapShare: fc.double({ min: 0.01, max: 1, noNaN: true }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ({ unitMs, caRotate, caOverlap, certRotate, overlapShare }) => {
        const world = new World({
          caRotateMs: caRotate * unitMs,
          caOverlapMs: caOverlap * unitMs,
          certRotateMs: certRotate * unitMs,
          certOverlapMs: Math.max(1, Math.floor(certRotate * overlapShare)) * unitMs,
        });
        await world.settle();
        const startMs = world.nowMs;
        for (let step = 0; step < 40; step++) {
          const plan = await world.settle();
          expect(world.trusts()).toBe(true);
          expect(plan.nextMs).toBeGreaterThan(world.nowMs);
          world.nowMs = plan.nextMs - 1;
          expect(world.trusts()).toBe(true);
          world.nowMs = plan.nextMs;
        }
        const made = world.log.filter((kind) => kind === "make-ca" || kind === "make-serving").length;
        const elapsed = (world.nowMs - startMs) / unitMs;
        expect(made).toBeLessThan(4 + 3 * (elapsed / certRotate + elapsed / caRotate));
      }),
      {
        numRuns: share(12),
        examples: [[{ unitMs: 1000, caRotate: 8, caOverlap: 8, certRotate: 4, overlapShare: 0.75 }]],
      },
    );
  });
});
