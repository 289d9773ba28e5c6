import fc from "fast-check";
import { Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { LabelledHistogram } from "../../../src/kube/process/labelled-histogram.ts";

test("a registry prints it as it prints one of prom-client", async () => {
  const buckets = [0.001, 0.5, 2];
  const named = { name: "seconds", help: "How long." };
  const seconds = fc.oneof(fc.constantFrom(0, ...buckets), fc.double({ min: 0, max: 4, noNaN: true }));
  const observations = fc.array(fc.tuple(fc.constantFrom("one", "other"), seconds), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(observations, async (observed) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const labelled = new LabelledHistogram({ ...named, label: "webhook", buckets, registers: [ours] });
      const reference = new Histogram({ ...named, labelNames: ["webhook"], buckets, registers: [theirs] });
      for (const [webhook, value] of observed) {
        labelled.observe(webhook, value);
        reference.observe({ webhook }, value);
      }
      expect(await ours.metrics()).toBe(await theirs.metrics());
    }),
  );
});
