import "reflect-metadata";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { credentialsFromKubeconfig } from "../../../src/kube/credentials/credentials.ts";

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  file = join(directory, "config");
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const SERVER = { server: "https://10.0.0.1:6443" };
const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "c", cluster: SERVER }],
  users: [{ name: "u", user: { token: "secret" } }],
  contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  "current-context": "x",
};

/** What loading says; every fault is one line that starts with or names the file. */
async function fault(text?: string | object): Promise<string> {
  if (text !== undefined) {
    await writeFile(file, typeof text === "string" ? text : JSON.stringify({ ...KUBECONFIG, ...text }));
  }
  const message = await credentialsFromKubeconfig(file).then(
    () => "",
    (error: Error) => error.message,
  );
  expect(message.split("\n")).toHaveLength(1);
  expect(message).toContain(file);
  return message.replaceAll(file, "FILE");
}

const user = (fields: object) => ({ users: [{ name: "u", user: fields }] });
const cluster = (fields: object) => ({ clusters: [{ name: "c", cluster: { ...SERVER, ...fields } }] });
const exec = (command: string, more: object = {}) =>
  user({ exec: { apiVersion: "client.authentication.k8s.io/v1", command, interactiveMode: "Never", ...more } });
const base64 = (text: string) => Buffer.from(text).toString("base64");

async function expiredCertificate(): Promise<string> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=u",
    notBefore: new Date("2024-01-01T00:00:00Z"),
    notAfter: new Date("2025-01-02T03:04:05Z"),
    keys,
    signingAlgorithm: algorithm,
  });
  return certificate.toString("pem");
}

describe("a kubeconfig that cannot be used says in one sentence which file, which field, what to do:", () => {
  test("a missing file", async () => {
    expect(await fault()).toBe("Kubeconfig FILE does not exist: set KUBECONFIG to the path of a kubeconfig.");
  });

  test("a directory", async () => {
    file = directory;
    expect(await fault()).toBe("Kubeconfig FILE is a directory: set KUBECONFIG to the file in it.");
  });

  test("bad YAML", async () => {
    expect(await fault("clusters: [b\nusers: d")).toMatch(
      /^Kubeconfig FILE is not valid: deficient indentation \(2:1\)\. Correct that line or field, or get a new file\.$/,
    );
  });

  test("an empty file", async () => {
    expect(await fault("\n")).toMatch(/^Kubeconfig FILE is not valid: .*empty/);
  });

  test("no server", async () => {
    expect(await fault({ clusters: [{ name: "c", cluster: {} }] })).toContain("clusters[0].cluster.server is missing");
  });

  test("a server that is not a URL", async () => {
    expect(await fault(cluster({ server: "10.0.0.1:6443" }))).toBe(
      'FILE: clusters[c].cluster.server "10.0.0.1:6443" is not a URL: write it as https://HOST:PORT.',
    );
  });

  test("a proxy of a kind that does not exist", async () => {
    expect(await fault(cluster({ "proxy-url": "gopher://p:1" }))).toBe(
      "FILE: clusters[c].cluster.proxy-url is not a URL of a proxy: write it as http://, https:// or socks5://HOST:PORT.",
    );
  });

  test("no current-context", async () => {
    expect(await fault({ "current-context": "" })).toBe(
      "FILE: current-context is not set: choose one of its contexts (x).",
    );
  });

  test("an unknown context", async () => {
    expect(await fault({ "current-context": "y" })).toBe(
      'FILE: context "y" is not among its contexts: choose one (x).',
    );
  });

  test("an unknown cluster", async () => {
    expect(await fault({ clusters: [] })).toBe(
      'FILE: contexts[x].context.cluster "c" is not among its clusters: correct the name or add it.',
    );
  });

  test("an unknown user", async () => {
    expect(await fault({ users: [] })).toBe(
      'FILE: contexts[x].context.user "u" is not among its users: correct the name or add it.',
    );
  });

  test("a token file that is not there", async () => {
    expect(await fault(user({ tokenFile: "/nowhere/token" }))).toBe(
      "FILE: users[u].user.tokenFile names /nowhere/token, which does not exist: correct the path or put the file there.",
    );
  });

  test("an empty token file", async () => {
    const path = join(directory, "token");
    await writeFile(path, "\n");
    expect(await fault(user({ tokenFile: path }))).toBe(
      `FILE: users[u].user gives no credentials: ${path} is empty. Correct it.`,
    );
  });

  test("an expired certificate", async () => {
    const data = { "client-certificate-data": base64(await expiredCertificate()), "client-key-data": base64("key") };
    expect(await fault(user(data))).toBe(
      "FILE: users[u].user.client-certificate-data expired at 2025-01-02T03:04:05.000Z: get a new certificate for this user.",
    );
  });

  test("an expired certificate in a file of its own", async () => {
    const path = join(directory, "client.crt");
    await writeFile(path, await expiredCertificate());
    expect(await fault(user({ "client-certificate": path, "client-key": path }))).toContain(
      "users[u].user.client-certificate expired at 2025-01-02T03:04:05.000Z",
    );
  });

  test("something else in place of a certificate", async () => {
    expect(await fault(user({ "client-certificate-data": base64("hello"), "client-key-data": base64("key") }))).toBe(
      "FILE: users[u].user.client-certificate-data is not a PEM certificate: get a new kubeconfig for this user.",
    );
  });

  test.each([
    ["a CA", "clusters[c].cluster.certificate-authority", cluster({ "certificate-authority": "/nowhere/x" })],
    [
      "a certificate",
      "users[u].user.client-certificate",
      user({ "client-certificate": "/nowhere/x", "client-key": "/nowhere/y" }),
    ],
  ])("%s whose file is missing", async (_, field, change) => {
    expect(await fault(change)).toBe(
      `FILE: ${field} names /nowhere/x, which does not exist: correct the path or put the file there.`,
    );
  });

  test.each(["/nowhere/plugin", "no-such-plugin"])("an exec plugin that is not there: %s", async (command) => {
    expect(await fault(exec(command, { installHint: "See the plugin's page.\nMore." }))).toBe(
      `FILE: users[u].user.exec.command "${command}" was not found: install it (See the plugin's page.) or correct the path.`,
    );
  });

  test("an exec plugin that fails", async () => {
    const plugin = join(directory, "plugin");
    await writeFile(plugin, "#!/bin/sh\necho please log in >&2\nexit 3\n");
    await chmod(plugin, 0o755);
    expect(await fault(exec(plugin))).toBe(
      `FILE: users[u].user.exec.command "${plugin}" gave no credentials: please log in. Run it by hand to see why.`,
    );
  });
});
