import { expect, test } from "vitest";
import { findCondition, rfc3339, rfc3339Micro, setCondition } from "../../src/kube/conditions.ts";

const T1 = new Date("2026-01-01T00:00:00.123Z");
const T2 = new Date("2026-01-01T00:10:00Z");
const available = { type: "Available", status: "True", reason: "Ready", message: "" } as const;

test("a new condition is appended with the time of now, without a fraction", () => {
  expect(setCondition(undefined, available, T1)).toEqual([
    { ...available, lastTransitionTime: "2026-01-01T00:00:00Z" },
  ]);
});

test("nothing changed: the very same list, so there is nothing to write", () => {
  const list = setCondition([], available, T1);
  expect(setCondition(list, available, T2)).toBe(list);
});

test("another reason or message keeps the time, another status does not, and the order stays", () => {
  const list = setCondition(setCondition([], available, T1), { ...available, type: "Degraded", status: "False" }, T1);
  const explained = setCondition(list, { ...available, reason: "Other", message: "why" }, T2);
  expect(explained[0]).toEqual({ ...available, reason: "Other", message: "why", lastTransitionTime: rfc3339(T1) });
  const gone = setCondition(explained, { ...available, status: "Unknown" }, T2);
  expect(gone.map((one) => one.type)).toEqual(["Available", "Degraded"]);
  expect(findCondition(gone, "Available")?.lastTransitionTime).toBe("2026-01-01T00:10:00Z");
});

test("a new observedGeneration is a change, and is dropped when left out", () => {
  const list = setCondition([], { ...available, observedGeneration: 1 }, T1);
  expect(findCondition(setCondition(list, { ...available, observedGeneration: 2 }, T2), "Available")).toMatchObject({
    observedGeneration: 2,
    lastTransitionTime: rfc3339(T1),
  });
});

test("MicroTime has six digits", () => {
  expect(rfc3339Micro(T1)).toBe("2026-01-01T00:00:00.123000Z");
});

test("a condition that is not there is undefined", () => {
  expect(findCondition(undefined, "Available")).toBeUndefined();
});
