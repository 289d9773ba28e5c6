/** What a user's `docker login` left for a registry: docker's config.json, and the credential helpers that it names. */

import { readFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import * as z from "zod";
import { run } from "./command.ts";
import { ImageError } from "./image-error.ts";

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

const entry = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
});
const schema = z.object({
  auths: z.record(z.string(), entry).optional(),
  credsStore: z.string().optional(),
  credHelpers: z.record(z.string(), z.string()).optional(),
});

/** Undefined when nobody logged in to the registry. */
export async function registryCredentials(registry: string, env: NodeJS.ProcessEnv): Promise<Credentials | undefined> {
  const file = path.join(env.DOCKER_CONFIG || path.join(env.HOME || homedir(), ".docker"), "config.json");
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const config = parse(text, file);
  const helper = config.credHelpers?.[registry] ?? config.credsStore;
  if (helper !== undefined) {
    const found = await askHelper(helper, registry);
    if (found !== undefined) return found;
  }
  const auth = config.auths?.[registry] ?? config.auths?.[`https://${registry}`];
  if (auth?.username !== undefined && auth.password !== undefined)
    return { username: auth.username, password: auth.password };
  const decoded = Buffer.from(auth?.auth ?? "", "base64").toString();
  const colon = decoded.indexOf(":");
  return colon < 1 ? undefined : { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function parse(text: string, file: string): z.infer<typeof schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ImageError(`${file} is not what \`docker login\` writes`, { cause });
  }
}

/** The protocol of docker-credential-helpers: the registry on stdin, JSON on stdout. A helper that knows nothing fails. */
async function askHelper(helper: string, registry: string): Promise<Credentials | undefined> {
  const command = `docker-credential-${helper}`;
  const asked = await run(command, ["get"], {
    cwd: tmpdir(),
    install: `it, as docker's config.json names it`,
    stdin: registry,
  });
  if (asked.code !== 0) return undefined;
  const answer = z.object({ Username: z.string(), Secret: z.string() }).parse(JSON.parse(asked.stdout));
  return { username: answer.Username, password: answer.Secret };
}
