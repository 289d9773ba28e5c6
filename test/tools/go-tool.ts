/** A program that tests use, built from its Go module. A folder beside this file pins each program's module. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildMissing, goFlags, programFolder } from "../cluster/control-plane/go-programs.ts";

export interface GoTool {
  /** Name of the folder with go.mod, and of the executable. */
  readonly name: string;
  readonly goPackage: string;
}

/** Path of the executable. Throws MissingRequirement, in one sentence, when it must be built and can't be. */
export async function ensureGoTool(
  { name, goPackage }: GoTool,
  env: NodeJS.ProcessEnv = process.env,
  log: (line: string) => void = () => {},
): Promise<string> {
  const directory = join(import.meta.dirname, name);
  const module = { cacheName: name, directory, release: "its Go module", flags: goFlags() };
  const executable = join(await programFolder(module, env), name);
  await buildMissing(module, () => (existsSync(executable) ? [] : [{ name, goPackage }]), { env, log });
  return executable;
}
