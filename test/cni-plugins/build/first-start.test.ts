import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { PluginName } from "../../../cni-plugins/build/bundle.ts";
import { startOnce } from "../../../cni-plugins/build/first-start.ts";
import { BuildError, machineArch } from "../../../cni-plugins/build/toolchain.ts";

const about = (plugin: PluginName) => `test -z "$CNI_COMMAND" && echo 'CNI ${plugin} plugin 1.0' >&2`;

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "first-start-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function start(plugin: PluginName, contents: string): Promise<boolean> {
  const file = path.join(folder, plugin);
  await writeFile(file, contents);
  await chmod(file, 0o755);
  return startOnce(plugin, file, machineArch(), process.env);
}

it.each<[PluginName, string]>([
  ["bridge", about("bridge")],
  ["tuning", about("tuning")],
  ["link-monitor", "echo 'usage: link-monitor' >&2; exit 2"],
])("takes a %s that answers a harmless call", async (plugin, script) => {
  expect(await start(plugin, `#!/bin/sh\n${script}\n`)).toBe(true);
});

it.each([
  ["is not for this machine", "\x7fELF", /does not start: it exits with 127:/],
  ["is killed", "#!/bin/sh\nkill -ILL $$\n", /does not start: it is ended by SIGILL$/],
  ["answers otherwise", "#!/bin/sh\necho hello\n", /does not start: it exits with 0:\nhello$/],
  ["fails", `#!/bin/sh\n${about("bridge")}\nexit 1\n`, /does not start: it exits with 1:/],
])("refuses one that %s", async (_, contents, message) => {
  const outcome = start("bridge", contents);
  await expect(outcome).rejects.toThrow(BuildError);
  await expect(outcome).rejects.toThrow(message);
});

it("starts nothing for another architecture without an emulator", () => {
  const foreign = machineArch() === "amd64" ? "arm64" : "amd64";
  expect(startOnce("bridge", "/no/such/file", foreign, { PATH: folder })).toBe(false);
});
