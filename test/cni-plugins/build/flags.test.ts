import path from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand } from "../../cluster/command.ts";

const ROOT = path.join(import.meta.dirname, "../../..");

describe.each([
  ["cni-plugins/build/build.ts", "--arch"],
  ["deploy/release.ts", "--image"],
  ["deploy/image/build.ts", "--push"],
  ["test/sim/run.ts", "--seed"],
  ["test/operator/sequences/main.ts", "--count"],
  ["test/netns/differential/run.ts", "--vlan-cases"],
  ["test/mac-pool/soak/main.ts", "--minutes"],
  ["test/bench/run.ts", "--nodes"],
])("%s", (script, flag) => {
  const run = (...args: string[]) => runCommand([process.execPath, path.join(ROOT, script), ...args]);

  it("does nothing where a flag is given twice, and says which", async () => {
    const { code, stdout, stderr } = await run(flag, "1", `${flag}=2`);
    expect({ code: code > 0, stdout }).toEqual({ code: true, stdout: "" });
    expect(stderr.split("\n")[0]).toBe(`${flag} is given twice: give it once`);
  });

  it("does nothing where a flag is unknown, and says which without a stack", async () => {
    const { code, stdout, stderr } = await run(`${flag}x`);
    expect({ code: code > 0, stdout }).toEqual({ code: true, stdout: "" });
    expect(stderr.split("\n")[0]).toContain(`Unknown option '${flag}x'`);
    expect(stderr).not.toContain("    at ");
  });
});
