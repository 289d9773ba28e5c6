import { describe, expect, it } from "vitest";
import { decideAtShutdown } from "../../src/api/component-state.ts";

const found = (config: { metadata?: { deletionTimestamp?: string }; spec?: Record<string, unknown> }) =>
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
});
