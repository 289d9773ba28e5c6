/** A real OCI registry on a loopback port: `crane registry serve`, built from its Go module. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Component, throwUncaught } from "../cluster/control-plane/component.ts";
import { ensureGoTool } from "../tools/go-tool.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";

export interface Registry extends AsyncDisposable {
  /** `127.0.0.1:PORT`, as it begins an image's reference. Plain HTTP. */
  readonly host: string;
}

export interface RegistryOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly log?: (line: string) => void;
}

/** The executable of crane, which can also read what a registry holds. */
export function buildCrane({ env, log }: RegistryOptions = {}): Promise<string> {
  return ensureGoTool({ name: "crane", goPackage: "github.com/google/go-containerregistry/cmd/crane" }, env, log);
}

/** An empty one. It ends with the process that started it, and its blobs with `dispose`. */
export async function startRegistry(options: RegistryOptions = {}): Promise<Registry> {
  const crane = await buildCrane(options);
  const directory = await mkdtemp(path.join(tmpdir(), "registry-"));
  const blobs = path.join(directory, "blobs");
  await mkdir(blobs);
  const host = `127.0.0.1:${await freePort()}`;
  const component = new Component({
    name: "registry",
    argv: [crane, "registry", "serve", "--address", host, "--disk", blobs],
    logFile: path.join(directory, "log"),
    onCrash: throwUncaught,
  });
  const dispose = async (): Promise<void> => {
    await component[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await eventually("the registry", async () => (await fetch(`http://${host}/v2/`)).ok);
  } catch (error) {
    await dispose();
    throw error;
  }
  return { host, [Symbol.asyncDispose]: dispose };
}
