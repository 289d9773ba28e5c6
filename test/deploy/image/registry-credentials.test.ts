import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { registryCredentials } from "../../../deploy/image/registry-credentials.ts";

const HOST = "registry.test:5000";
const encoded = Buffer.from("me:se:cret").toString("base64");

describe("the login of docker's config.json", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "docker-config-"));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });

  const write = (config: unknown): Promise<void> => writeFile(path.join(folder, "config.json"), JSON.stringify(config));
  const login = () => registryCredentials(HOST, { DOCKER_CONFIG: folder });

  it("is none without the file, and without the registry in it", async () => {
    expect(await login()).toBeUndefined();
    await write({ auths: { "other.test": { auth: encoded } } });
    expect(await login()).toBeUndefined();
  });

  it("is what docker login wrote, a colon in the password included", async () => {
    await write({ auths: { [HOST]: { auth: encoded } } });
    expect(await login()).toEqual({ username: "me", password: "se:cret" });
  });

  it("comes from the registry's credential helper", async () => {
    const helper = path.join(folder, "docker-credential-test");
    await writeFile(helper, `#!/bin/sh\nread -r host; echo "{\\"Username\\":\\"u\\",\\"Secret\\":\\"$host\\"}"\n`);
    await chmod(helper, 0o755);
    vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
    await write({ credHelpers: { [HOST]: "test" } });
    expect(await login()).toEqual({ username: "u", password: HOST });
  });

  it("is refused in one sentence where a helper or the file is broken", async () => {
    await write({ credHelpers: { [HOST]: "absent" } });
    await expect(login()).rejects.toThrow("docker-credential-absent was not found");
    await writeFile(path.join(folder, "config.json"), "{");
    await expect(login()).rejects.toThrow("config.json is not what `docker login` writes");
  });
});
