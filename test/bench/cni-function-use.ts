/**
 * `npm run profile:plugins`: writes which functions of the CNI plugins calls use, as callgrind sees them, to the list that
 * `cni-plugins/ordered-link.ts` orders the executables by. Run it when much of the plugins, or the compiler, has changed.
 */

import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { BuildError, buildUnstripped } from "../../cni-plugins/build.ts";
import { FUNCTIONS_BY_USE, stableName } from "../../cni-plugins/ordered-link.ts";
import { BenchFault } from "./bench.ts";
import { measureChain } from "./cni-chain.ts";
import { compile, type Measurement, measure } from "./cni-timer.ts";
import { buildPeers, MissingTool } from "./peers.ts";

const HEADING =
  "# Functions of bridge and tuning that calls use, those of most kinds of calls first: npm run profile:plugins";

const BRIDGE = { cniVersion: "1.0.0", name: "profile", type: "bridge", bridge: "br-profile" };

/** What reads the vDSO at each start: valgrind hides that from the program. */
const OF_THE_VDSO = [
  ...["_dl_new_object", "_dl_add_to_namespace_list", "_dl_setup_hash", "_dl_lookup_symbol_x"],
  ...["do_lookup_x", "check_match", "__strcmp_sse2"],
];

/** What a child runs in the memory of its parent until it is another program: valgrind writes of programs that end. */
const OF_CHILDREN = [
  ...["__spawni_child", "__sigprocmask", "__pthread_sigmask", "dup2"],
  ...["__execvpex", "__execvpe_common", "execve"],
];

/** Added to the configuration of a layer 2 attachment. */
function kindsOfAttachments(dataDir: string): readonly object[] {
  const ipam = { type: "host-local", dataDir, ranges: [[{ subnet: "10.88.0.0/16" }]] };
  const both = { ...ipam, ranges: [...ipam.ranges, [{ subnet: "fd00:88::/64" }]] };
  const masquerade = { isDefaultGateway: true, ipMasq: true, ipMasqBackend: "nftables", enabledad: true, ipam: both };
  return [{}, { macspoofchk: true }, { isGateway: true, ipam }, masquerade];
}

/**
 * The functions of one call, from what `--callgrind-out-file` says: a name is written out where it stands first,
 * an address where there is no name.
 */
export function functionsUsed(profile: string): readonly string[] {
  const names = Array.from(profile.matchAll(/^c?fn=\(\d+\) (?!0x)(.+)$/gm), ([, name = ""]) =>
    name.replace(/'\d+$/, ""),
  );
  return [...new Set(names.map(stableName))];
}

/** What most of the sets have comes first. */
export function byUse(kinds: readonly ReadonlySet<string>[]): readonly string[] {
  const uses = new Map<string, number>();
  for (const name of kinds.flatMap((kind) => [...kind])) uses.set(name, (uses.get(name) ?? 0) + 1);
  return [...uses.keys()].sort((a, b) => (uses.get(b) ?? 0) - (uses.get(a) ?? 0) || (a < b ? -1 : 1));
}

/** Runs each kind of call under callgrind; what it wrote is in files `PLUGIN.COMMAND.PID` of `directory`. */
async function profileCalls(directory: string, env: NodeJS.ProcessEnv): Promise<void> {
  const unstripped = await buildUnstripped({ env, log: console.error });
  const cniPath = await buildPeers(env, console.error);
  const folder = path.join(directory, "profiled");
  await mkdir(folder);
  for (const plugin of ["bridge", "tuning"]) {
    const options = `--demangle=no --show-below-main=yes "--callgrind-out-file=${directory}/${plugin}.$CNI_COMMAND.%p"`;
    const command = `valgrind --tool=callgrind ${options} --log-file=/dev/null '${path.join(unstripped, plugin)}'`;
    await writeFile(path.join(folder, plugin), `#!/bin/sh\nexec ${command}\n`, { mode: 0o755 });
  }
  await measureChain({ profiled: folder }, 1, env);
  const timer = await compile("cni-timer", env);
  const configFile = path.join(directory, "config.json");
  const call = { rounds: 1, parallel: 1, del: true, configFile, cniPath } as const;
  const executables: Measurement["executables"] = { profiled: path.join(folder, "bridge") };
  for (const keys of kindsOfAttachments(path.join(directory, "data"))) {
    await writeFile(configFile, JSON.stringify({ ...BRIDGE, ...keys }));
    await measure(timer, { ...call, command: "ADD", executables }, env);
  }
  await measure(timer, { ...call, command: "VERSION", executables }, env);
}

async function main(): Promise<void> {
  if (spawnSync("valgrind", ["--version"]).error !== undefined) {
    throw new BenchFault("valgrind was not found: install it to see which functions calls use");
  }
  const directory = await mkdtemp(path.join(tmpdir(), "cni-function-use-"));
  try {
    await profileCalls(directory, process.env);
    const kinds = new Map<string, Set<string>>();
    for (const file of (await readdir(directory)).filter((name) => /\.\d+$/.test(name))) {
      const kind = file.replace(/\.\d+$/, "");
      const used = functionsUsed(await readFile(path.join(directory, file), "utf8"));
      const unseen = kind.startsWith("bridge.") ? [...OF_THE_VDSO, ...OF_CHILDREN] : OF_THE_VDSO;
      kinds.set(kind, new Set([...(kinds.get(kind) ?? []), ...used, ...unseen]));
    }
    const names = byUse([...kinds.values()]);
    await writeFile(FUNCTIONS_BY_USE, `${[HEADING, ...names].join("\n")}\n`);
    console.log(`${names.length} functions of ${[...kinds.keys()].join(", ")}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    const isSentence = [BenchFault, BuildError, MissingTool].some((kind) => error instanceof kind);
    console.error(isSentence && error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
