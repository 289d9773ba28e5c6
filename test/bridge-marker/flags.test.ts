import { describe, expect, it } from "vitest";
import { parseFlags } from "../../src/bridge-marker/flags.ts";

describe("the marker's flags", () => {
  it("have upstream's defaults: 60 seconds, 10 minutes, port 8081", () => {
    expect(parseFlags(["-node-name", "node-a"])).toEqual({
      ok: true,
      flags: {
        nodeName: "node-a",
        updateIntervalMs: 60_000,
        reconcileIntervalMs: 600_000,
        healthProbePort: 8081,
        healthProbeHost: undefined,
        selection: { include: [], exclude: [], onlyWithPorts: false },
      },
    });
  });

  it("are read with one dash or two, with = or as the next argument", () => {
    const args = ["--node-name=a", "-update-interval=5", "--reconcile-interval", "2", "-health-probe-port", "0"];
    expect(parseFlags(args)).toMatchObject({
      ok: true,
      flags: { nodeName: "a", updateIntervalMs: 5000, reconcileIntervalMs: 120_000, healthProbePort: 0 },
    });
  });

  it("select bridges by lists of patterns, and the address of the probes", () => {
    const args = [
      "-node-name=a",
      "-include",
      "br*,lab?",
      "-exclude=br-*",
      "-only-with-ports",
      "-health-probe-host=::1",
    ];
    const selection = { include: ["br*", "lab?"], exclude: ["br-*"], onlyWithPorts: true };
    expect(parseFlags(args)).toMatchObject({ ok: true, flags: { selection, healthProbeHost: "::1" } });
    const off = ["-node-name=a", "-only-with-ports=false"];
    expect(parseFlags(off)).toMatchObject({ ok: true, flags: { selection: { onlyWithPorts: false } } });
  });

  it.each([
    [[], "-node-name is required"],
    [["-node-name"], "-node-name needs a value"],
    [["-node-name", "a", "-update-interval", "soon"], "-update-interval must be"],
    [["-node-name", "a", "-health-probe-port", "70000"], "-health-probe-port must be"],
    [["-node-name", "a", "-include", "br1,,br2"], '-include: "" is no pattern'],
    [["-node-name", "a", "-exclude", "br/1"], '-exclude: "br/1" is no pattern'],
    [["-node-name", "a", "-only-with-ports=perhaps"], "-only-with-ports is true or false"],
    [["-node-name", "a", "-verbose"], 'unknown flag "-verbose"'],
    [["node-a"], 'unknown flag "node-a"'],
  ])("refuse %j in one sentence that lists what there is", (args, reason) => {
    const result = parseFlags(args);
    expect(result).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
    expect(result).toMatchObject({ reason: expect.stringContaining("-reconcile-interval MINUTES") });
  });
});
