import { describe, expect, it } from "vitest";
import { decideAtShutdown, readLiveConfig } from "../../src/api/component-state.ts";

const found = (config: { metadata: { deletionTimestamp?: string }; spec?: Record<string, unknown> }) =>
  decideAtShutdown("linuxBridge", { kind: "found", config }).action;

describe("a daemon that is told to stop", () => {
  it("keeps what it left while the component is asked for, even as an empty object", () => {
    expect(found({ metadata: {}, spec: { linuxBridge: {} } })).toBe("keep");
  });

  it("removes it when the component was taken out of the configuration", () => {
    expect(found({ metadata: {}, spec: { kubeMacPool: {} } })).toBe("remove");
    expect(found({ metadata: {}, spec: { linuxBridge: null } })).toBe("remove");
    expect(found({ metadata: {} })).toBe("remove");
  });

  it("removes it when the configuration is being deleted or is gone", () => {
    expect(found({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" }, spec: { linuxBridge: {} } })).toBe(
      "remove",
    );
    expect(decideAtShutdown("linuxBridge", { kind: "absent" }).action).toBe("remove");
  });

  it("keeps it when nobody can say", () => {
    const decision = decideAtShutdown("linuxBridge", { kind: "unreachable", reason: "connection refused" });
    expect(decision).toEqual({
      action: "keep",
      reason: "the NetworkAddonsConfig could not be read: connection refused",
    });
  });

  it("takes a 404 for an absent configuration only when the server names it", async () => {
    const failing = (details: unknown) =>
      readLiveConfig(() => Promise.reject(Object.assign(new Error("no"), { status: 404, details })));
    expect(await failing({ name: "cluster" })).toEqual({ kind: "absent" });
    expect(await failing(undefined)).toEqual({ kind: "unreachable", reason: "no" });
    expect(await failing({})).toEqual({ kind: "unreachable", reason: "no" });
  });
});
