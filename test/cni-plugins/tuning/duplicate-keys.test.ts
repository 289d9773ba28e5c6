import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { duplicateKeyBelow } from "../../../cni-plugins/tuning/duplicate-keys.ts";

describe("keys that stand twice", () => {
  it.each([
    ['{"sysctl":{"a":"1","a":"2"}}', "a"],
    ['{"args":{"cni":{"SysCtl":{"a":"1" , "b":[{}], "a":"2"}}}}', "a"],
    ['{"x":[{"sysctl":{"a":1,"\\u0061":2}}]}', "a"],
    ['{"sysctl":{"a":"}\\"{","b":"\\\\","b":""}}', "b"],
    ['{"\u0130":1,"sysctl":{"a":"1","a":"2"}}', "a"],
    ['{"\\u0073ysctl":{"a":"1","a":"2"}}', "a"],
    ['{"sysctl":{"a":"1"},"x":"sysctl","args":{"cni":{"sysctl" :{"b":"1","b":"2"}}}}', "b"],
    ['{"sysctl":{"sysctl":{"a":"1","a":"2"}}}', "a"],
  ])("%s has %s", (json, key) => {
    expect(duplicateKeyBelow("sysctl", json)).toBe(key);
  });

  it.each([
    '{"a":1,"a":2}',
    '{"sysctl":{"a":{"b":1,"b":2}}}',
    '{"sysctl":[],"x":{"a":1}}',
    "[]",
    '"sysctl"',
    "{}",
    '["sysctl",{"a":1,"a":2}]',
  ])("%s has none that matters", (json) => {
    expect(duplicateKeyBelow("sysctl", json)).toBeUndefined();
  });

  it("are never found in what JSON.stringify wrote", () => {
    fc.assert(
      fc.property(
        fc.object({ key: fc.oneof(fc.constant("sysctl"), fc.string()) }),
        fc.constantFrom(0, 2),
        (value, indent) => {
          expect(duplicateKeyBelow("sysctl", JSON.stringify(value, null, indent))).toBeUndefined();
        },
      ),
    );
  });
});
