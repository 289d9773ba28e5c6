import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type CommandResult, mustRun, runCommand } from "../../cluster/command.ts";
import { isRoot } from "../../cluster/requirements.ts";

/** A machine without nft, whatever this one has: each one that is found is covered in a mount namespace. */
const WITHOUT_NFT = `
  for file in $(type -aP nft); do mount --bind /dev/null "$(readlink -f "$file")"; done
  exec "$@"`;

let cache: string;
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), "programs-"));
});
afterEach(() => rm(cache, { recursive: true, force: true }));

const env = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !folder.endsWith("/wrappers"))
    .join(delimiter),
  XDG_CACHE_HOME: cache,
});

const provide = (...namespaces: string[]): Promise<CommandResult> => {
  const unshare = ["unshare", "--mount", ...namespaces, ...(isRoot() ? [] : ["--user", "--map-root-user"])];
  const node = [process.execPath, join(import.meta.dirname, "provide.ts"), "nft"];
  return runCommand([...unshare, "bash", "-c", WITHOUT_NFT, "bash", ...node], { env: env() });
};

it("a program that the machine lacks comes from its package and runs, without being installed", async () => {
  const { stdout, stderr } = await provide();
  expect(stderr).toContain("downloading nftables, iptables");
  const { path, missing } = JSON.parse(stdout) as { path: string; missing: string | null };
  expect(missing).toBeNull();
  expect(path.startsWith(cache)).toBe(true);
  const rules = "nft add table inet fetched; nft list tables";
  expect(await mustRun(["unshare", "--net", "sh", "-c", rules], { env: { ...env(), PATH: path } })).toContain(
    "fetched",
  );
  expect((await provide()).stderr).not.toContain("downloading");
});

it("a program that can't be had is named, with the command that installs it", async () => {
  const { stdout } = await provide("--net");
  expect(JSON.parse(stdout).missing).toBe(
    "not found and not to be downloaded: nft; for the whole run: apt-get install nftables iptables",
  );
});
