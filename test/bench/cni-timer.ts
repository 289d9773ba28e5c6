/** Compiles and runs `harness/cni-timer.c`, which does the spawning and the timing. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { cacheDirectory } from "../../cni-plugins/build/built-plugins.ts";
import { BenchFault } from "./bench.ts";

const HARNESS = path.join(import.meta.dirname, "harness");
const MAX_OUTPUT_BYTES = 64 << 20;

const run = promisify(execFile);

const measured = z.record(
  z.string(),
  z.object({
    wallMs: z.array(z.number()),
    cpuMs: z.array(z.number()),
    rssKb: z.number(),
  }),
);

export interface Samples {
  /** From the first spawn to the last exit. */
  readonly wallMs: readonly number[];
  /** Of one process each. */
  readonly cpuMs: readonly number[];
  readonly rssKb: number;
}

export interface Measurement {
  readonly command: "VERSION" | "ADD" | "DEL";
  readonly rounds: number;
  readonly parallel: number;
  readonly configFile: string;
  /** Directory of the IPAM plugins. */
  readonly cniPath?: string;
  /** An ADD is taken back by a DEL; otherwise its interface is deleted. */
  readonly del?: boolean;
  /** The second plugin's configuration, of a list of two: each executable is both of them with a comma between. */
  readonly thenConfigFile?: string;
  /** Executables by label; they take turns. */
  readonly executables: Readonly<Record<string, string>>;
  /** Nodes by name, with the file of the nftables commands that make what is there already. They take turns too. */
  readonly nodes?: Readonly<Record<string, string>>;
}

/** The path of a C program of the harness, compiled as a static executable. */
export async function compile(name: string, env: NodeJS.ProcessEnv): Promise<string> {
  const source = path.join(HARNESS, `${name}.c`);
  const key = createHash("sha256")
    .update(await readFile(source))
    .digest("hex")
    .slice(0, 16);
  const binary = path.join(cacheDirectory(env), `bench-${name}-${key}`);
  if (existsSync(binary)) return binary;
  await mkdir(path.dirname(binary), { recursive: true });
  const temporary = `${binary}.${process.pid}`;
  await run("cc", ["-O2", "-Wall", "-static", "-o", temporary, source], { env }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") throw new BenchFault("cc was not found: install a C compiler (gcc) to measure");
      throw error;
    },
  );
  await rename(temporary, binary);
  return binary;
}

/**
 * Runs in a network namespace of its own, without root in a user namespace too. The answer is by the executables' labels,
 * with nodes by `label@node`.
 */
export async function measure(
  timer: string,
  what: Measurement,
  env: NodeJS.ProcessEnv,
): Promise<Record<string, Samples>> {
  const user = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const nodes = Object.entries(what.nodes ?? {});
  const places = nodes.length === 0 ? [""] : nodes.map(([name]) => `@${name}`);
  const executables = Object.entries(what.executables).flatMap(([label, file]) =>
    places.map((place) => `${label}${place}=${file}`),
  );
  const args = [String(what.rounds), String(what.parallel), what.command, what.configFile, ...executables];
  // What plugins leave in /run ends with the measurement.
  const prepare = ["mount -t tmpfs tmpfs /run", ...nodes.map(([name, file]) => addNode(name, file)), 'exec "$@"'];
  const script = ["sh", "-c", prepare.join(" && "), "sh"];
  const settings = {
    ...(what.cniPath === undefined ? {} : { CNI_TIMER_PATH: what.cniPath }),
    ...(what.thenConfigFile === undefined ? {} : { CNI_TIMER_THEN: what.thenConfigFile }),
    ...(what.del ? { CNI_TIMER_DEL: "1" } : {}),
  };
  const command = [...user, "--net", "--mount", ...script, timer, ...args];
  const { stdout } = await run("unshare", command, { env: { ...env, ...settings }, maxBuffer: MAX_OUTPUT_BYTES });
  return measured.parse(JSON.parse(stdout));
}

function addNode(name: string, rulesFile: string): string {
  return `ip netns add ${name} && ip netns exec ${name} nft -f '${rulesFile}'`;
}
