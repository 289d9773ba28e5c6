import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { addIndex, addLayer, addManifest, type Blobs, type RunConfig } from "../../../deploy/image/oci.ts";
import { pushImage } from "../../../deploy/image/push.ts";
import { file } from "../../../deploy/image/tree.ts";
import { freePort } from "../../support/free-port.ts";
import { buildCrane, type Registry, startRegistry } from "../../support/registry.ts";

const run = promisify(execFile);
const CONFIG: RunConfig = { User: "1", WorkingDir: "/", Env: [], Entrypoint: [], Cmd: [], Labels: {} };
const LOGIN = { name: "pusher", password: "se:cret" };
const TOKEN = "a-token";

async function smallImage() {
  const blobs: Blobs = new Map();
  const shared = await addLayer(blobs, new Map([["shared", file("both have it")]]), 0, "shared");
  const manifests = [];
  for (const arch of ["amd64", "arm64"]) {
    const own = await addLayer(blobs, new Map([["own", file(arch)]]), 0, "own");
    manifests.push(addManifest(blobs, arch, [shared, own], CONFIG, 0));
  }
  return { blobs, index: addIndex(blobs, manifests) };
}

/** The registry behind a login, asked for as docker's own hub does (a token) or as small registries do (Basic). */
async function guard(upstream: string, kind: "Basic" | "Bearer"): Promise<{ host: string; server: Server }> {
  const basic = `Basic ${Buffer.from(`${LOGIN.name}:${LOGIN.password}`).toString("base64")}`;
  const server = createServer((asked, answer) => {
    const { host } = asked.headers;
    if (asked.url?.startsWith("/token?")) {
      const allowed =
        asked.headers.authorization === basic && asked.url.includes("repository%3Asome%2Fimage%3Apull%2Cpush");
      answer.writeHead(allowed ? 200 : 401).end(JSON.stringify({ token: TOKEN }));
      return;
    }
    if (asked.headers.authorization !== (kind === "Basic" ? basic : `Bearer ${TOKEN}`)) {
      const challenge = kind === "Basic" ? 'Basic realm="test"' : `Bearer realm="http://${host}/token",service="test"`;
      asked.resume();
      answer.writeHead(401, { "www-authenticate": challenge }).end();
      return;
    }
    const [hostname, port] = upstream.split(":");
    const headers = { ...asked.headers, authorization: "" };
    const passed = request({ hostname, port, path: asked.url, method: asked.method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe("a push", () => {
  let image: Awaited<ReturnType<typeof smallImage>>;
  let registry: Registry;
  let crane: string;
  let home: string;

  beforeAll(async () => {
    [image, registry, crane] = [await smallImage(), await startRegistry(), await buildCrane()];
  });
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), "push-home-"));
    return () => rm(home, { recursive: true });
  });
  afterAll(() => registry[Symbol.asyncDispose]());

  const push = (target: string) => pushImage(image, target, { HOME: home, DOCKER_CONFIG: home }, () => {});
  const logIn = (host: string, password = LOGIN.password): Promise<void> => {
    const auth = Buffer.from(`${LOGIN.name}:${password}`).toString("base64");
    return writeFile(path.join(home, "config.json"), JSON.stringify({ auths: { [host]: { auth } } }));
  };

  it("puts every architecture under the tag, and gives the reference by digest", async () => {
    const pushed = await push(`${registry.host}/some/image:1.0`);
    expect(pushed).toBe(`${registry.host}/some/image@${image.index.digest}`);
    const manifest = JSON.parse((await run(crane, ["manifest", `${registry.host}/some/image:1.0`])).stdout);
    const architectures = manifest.manifests.map(
      (one: { platform: { architecture: string } }) => one.platform.architecture,
    );
    expect(architectures).toEqual(["amd64", "arm64"]);
    const { stdout, stderr } = await run(crane, ["validate", "--remote", pushed]);
    expect(`${stdout}${stderr}`).toContain("PASS");
  });

  it("may be repeated", async () => {
    await push(`${registry.host}/twice:1`);
    expect(await push(`${registry.host}/twice:1`)).toContain(image.index.digest);
  });

  it.each(["Basic", "Bearer"] as const)("logs in where the registry wants %s", async (kind) => {
    const { host, server } = await guard(registry.host, kind);
    try {
      await expect(push(`${host}/some/image:1`)).rejects.toThrow(
        `The registry ${host} wants a login (HTTP 401): run \`docker login ${host}\``,
      );
      await logIn(host, "wrong");
      await expect(push(`${host}/some/image:1`)).rejects.toThrow(
        `The registry ${host} refuses the login of pusher (HTTP 401): run \`docker login ${host}\``,
      );
      await logIn(host);
      expect(await push(`${host}/some/image:1`)).toBe(`${host}/some/image@${image.index.digest}`);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it("says in one sentence that nothing listens there", async () => {
    const host = `127.0.0.1:${await freePort()}`;
    await expect(push(`${host}/some/image:1`)).rejects.toThrow(
      new RegExp(`^The registry ${host} can't be reached: .*ECONNREFUSED`),
    );
  });

  it("leaves no tag when it ends early", async () => {
    const broken = { blobs: new Map(image.blobs), index: image.index };
    const last = [...broken.blobs.keys()].at(-2) ?? "";
    broken.blobs.delete(last);
    await expect(pushImage(broken, `${registry.host}/broken:1`, { DOCKER_CONFIG: home }, () => {})).rejects.toThrow(
      last,
    );
    await expect(run(crane, ["digest", `${registry.host}/broken:1`])).rejects.toThrow(/NAME_UNKNOWN|MANIFEST_UNKNOWN/);
  });
});
