import { describe, expect, it } from "vitest";
import { readCniArgs } from "../../../cni-plugins/cni/cni-args.ts";

describe("CNI_ARGS", () => {
  it("gives the value of a key wherever it stands", () => {
    expect(readCniArgs("IgnoreUnknown=1;K8S_POD_NAME=web;MAC=02:00:00:00:00:01", "MAC")).toBe("02:00:00:00:00:01");
    expect(readCniArgs("MAC=02:00:00:00:00:01;K8S_POD_NAME=web;IgnoreUnknown=true", "MAC")).toBe("02:00:00:00:00:01");
  });

  it("gives nothing when the key is missing or empty", () => {
    expect(readCniArgs("", "MAC")).toBeUndefined();
    expect(readCniArgs("MAC=", "MAC")).toBeUndefined();
  });

  it.each([
    ["K8S_POD_NAME=web", /unknown arguments K8S_POD_NAME=web/],
    ["mac=02:00:00:00:00:01", /unknown arguments mac=/],
    ["IgnoreUnknown=maybe", /IgnoreUnknown=maybe/],
    ["MAC", /"MAC" where KEY=value/],
    ["MAC=a=b", /KEY=value/],
  ])("refuses %j", (text, message) => {
    expect(() => readCniArgs(text, "MAC")).toThrow(message);
  });
});
