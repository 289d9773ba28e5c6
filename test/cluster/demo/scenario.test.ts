import { describe, expect, it } from "vitest";
import { Scenario, type ScenarioListener, type Step } from "./scenario.ts";

const silent: ScenarioListener = { begin() {}, held() {}, failed() {} };
const never = new AbortController().signal;

function step(name: string, run: Step<null>["run"], limitMs = 5000): Step<null> {
  return { name, limitMs, run };
}

const holds = step("holds", async (_, values) => {
  values.answer = 42;
  return { text: "it holds" };
});

describe("a scenario", () => {
  it("is held when every step held, with the values each read", async () => {
    const scenario = new Scenario([holds]);
    expect(await scenario.run(null, silent, never)).toBe(true);
    const report = scenario.report("");
    expect(report.ok).toBe(true);
    expect(report.steps).toMatchObject([{ name: "holds", ok: true, values: { answer: 42 } }]);
  });

  it("ends at the first step that fails, keeps what it had found, and lists the rest as not run", async () => {
    const breaks = step("breaks", async (_, values) => {
      values.seen = "half";
      throw new Error("no such bridge", { cause: new Error("ENODEV") });
    });
    const scenario = new Scenario([holds, breaks, step("later", async () => ({ text: "" }))]);
    expect(await scenario.run(null, silent, never)).toBe(false);
    const report = scenario.report("ignored");
    expect(report.ok).toBe(false);
    expect(report.steps).toMatchObject([
      { name: "holds", ok: true },
      { name: "breaks", ok: false, values: { seen: "half", error: "no such bridge: ENODEV" } },
      { name: "later", ok: false, ms: 0, values: { notRun: "breaks did not hold" } },
    ]);
  });

  it("says in its first step why it never began", () => {
    const scenario = new Scenario([holds, step("later", async () => ({ text: "" }))]);
    expect(scenario.report("go not found")).toEqual({
      ok: false,
      steps: [
        { name: "holds", ok: false, ms: 0, values: { error: "go not found" } },
        { name: "later", ok: false, ms: 0, values: { notRun: "holds did not hold" } },
      ],
    });
  });

  it("gives up on a step at its limit, also when the step ignores the signal", async () => {
    const scenario = new Scenario([step("hangs", () => new Promise(() => {}), 20)]);
    expect(await scenario.run(null, silent, never)).toBe(false);
    expect(scenario.report("").steps[0]?.values.error).toBe("not done within 0.02 s");
  });

  it("reports a step that is still running when asked in the middle", async () => {
    const stop = new AbortController();
    const scenario = new Scenario([
      step("running", (_, __, signal) => new Promise((_, no) => signal.addEventListener("abort", no))),
    ]);
    const told = scenario.run(null, silent, stop.signal);
    expect(scenario.report("crashed").steps).toMatchObject([
      { name: "running", ok: false, values: { error: "crashed" } },
    ]);
    stop.abort(new Error("stopped"));
    expect(await told).toBe(false);
  });
});
