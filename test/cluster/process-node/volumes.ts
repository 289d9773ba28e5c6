/** A pod's volumes as directories of the node. */
import { existsSync, statSync } from "node:fs";
import { chmod, mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { HostPathVolumeSource, KeyToPath, Volume, VolumeProjection } from "kubernetes-types/core/v1.js";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { fieldValue, type PodAddresses } from "./field-ref.ts";
import type { Data, PodObjects } from "./pod-objects.ts";

export interface VolumeContext {
  readonly pod: Pod;
  readonly directory: string;
  readonly addresses: PodAddresses;
  readonly objects: PodObjects;
  readonly log: (line: string) => void;
  /** Ends the renewal of tokens. */
  readonly signal: AbortSignal;
}

const DEFAULT_MODE = 0o644;
const TOKEN_RETRY_MS = 1000;
/** A token is renewed after this part of its life, as by kubelet. */
const TOKEN_RENEWAL = 0.8;

/** Path on the node for each volume. Rejects while something that a volume needs is missing; the caller tries again. */
export async function makeVolumes(context: VolumeContext): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>();
  for (const volume of context.pod.spec?.volumes ?? []) {
    paths.set(volume.name, await makeVolume(volume, context));
  }
  return paths;
}

async function makeVolume(volume: Volume, context: VolumeContext): Promise<string> {
  if (volume.hostPath) return await hostPath(volume.hostPath);
  const directory = join(context.directory, volume.name);
  await mkdir(directory, { recursive: true });
  const { objects } = context;
  if (volume.emptyDir) {
    await chmod(directory, 0o777);
  } else if (volume.configMap) {
    const { items, defaultMode } = volume.configMap;
    await writeItems(directory, await objects.configMap(volume.configMap), items, defaultMode);
  } else if (volume.secret) {
    const { secretName, optional, items, defaultMode } = volume.secret;
    const data = await objects.secret({ name: secretName, optional });
    await writeItems(directory, data, items, defaultMode);
  } else if (volume.downwardAPI) {
    await project(directory, { downwardAPI: volume.downwardAPI }, volume.downwardAPI.defaultMode, context);
  } else if (volume.projected) {
    for (const source of volume.projected.sources ?? []) {
      await project(directory, source, volume.projected.defaultMode, context);
    }
  } else {
    throw new Error(`volume ${volume.name}: its kind is not supported`);
  }
  return directory;
}

async function project(
  directory: string,
  source: VolumeProjection,
  mode: number | undefined,
  context: VolumeContext,
): Promise<void> {
  const { objects, pod, addresses } = context;
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  if (configMap) await writeItems(directory, await objects.configMap(configMap), configMap.items, mode);
  if (secret) await writeItems(directory, await objects.secret(secret), secret.items, mode);
  for (const { path, fieldRef } of downwardAPI?.items ?? []) {
    if (fieldRef === undefined) throw new Error(`downwardAPI ${path}: only fieldRef is supported`);
    await writeInto(join(directory, path), fieldValue(pod, fieldRef.fieldPath, addresses), mode);
  }
  if (serviceAccountToken) {
    const { audience, expirationSeconds, path } = serviceAccountToken;
    await keepToken(() => objects.token(audience, expirationSeconds), join(directory, path), mode, context);
  }
}

/** Writes a token now, and a new one before it expires. */
async function keepToken(
  issue: () => ReturnType<PodObjects["token"]>,
  file: string,
  mode: number | undefined,
  { signal, log }: VolumeContext,
): Promise<void> {
  const write = async (): Promise<number> => {
    const { token, expiresAtMs } = await issue();
    await writeInto(file, token, mode);
    return (expiresAtMs - Date.now()) * TOKEN_RENEWAL;
  };
  const renew = async (firstMs: number): Promise<void> => {
    let waitMs = firstMs;
    while (!signal.aborted) {
      await systemClock.sleep(waitMs, signal);
      waitMs = await write().catch((error: Error) => {
        log(`token of ${file}: ${error.message}`);
        return TOKEN_RETRY_MS;
      });
    }
  };
  const firstMs = await write();
  renew(firstMs).catch(() => {}); // ends by the signal
}

async function writeItems(
  directory: string,
  data: Data,
  items: readonly KeyToPath[] | undefined,
  mode: number | undefined,
): Promise<void> {
  const wanted = items ?? Object.keys(data).map((key): KeyToPath => ({ key, path: key }));
  for (const { key, path, mode: own } of wanted) {
    const content = data[key];
    if (content === undefined) throw new Error(`references non-existent key ${key}`);
    await writeInto(join(directory, path), content, own ?? mode);
  }
}

/** Replaces the file in one step, so that readers see the old or the new content. */
async function writeInto(file: string, content: string | Buffer, mode = DEFAULT_MODE): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.new`, content, { mode });
  await chmod(`${file}.new`, mode);
  await rename(`${file}.new`, file);
}

/** A path of the node itself. */
async function hostPath({ path, type = "" }: HostPathVolumeSource): Promise<string> {
  const exists = existsSync(path);
  switch (type) {
    case "":
    case "DirectoryOrCreate":
      // An untyped path that is missing is made by the runtime.
      if (!exists) await mkdir(path, { recursive: true });
      return path;
    case "FileOrCreate":
      if (!exists) await writeInto(path, "");
      return path;
    case "Directory":
    case "File":
    case "Socket": {
      const found = exists ? statSync(path) : undefined;
      const fits = type === "Directory" ? found?.isDirectory() : type === "File" ? found?.isFile() : found?.isSocket();
      if (!fits) throw new Error(`hostPath type check failed: ${path} is not a ${type.toLowerCase()}`);
      return path;
    }
    default:
      throw new Error(`hostPath ${path}: type ${type} is not supported`);
  }
}
