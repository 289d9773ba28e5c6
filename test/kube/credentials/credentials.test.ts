import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  credentialsFromKubeconfig,
  inClusterCredentials,
  loadCredentials,
  RELOAD_INTERVAL_MS,
  userCredentials,
} from "../../../src/kube/credentials/credentials.ts";
import { Authority } from "../../cluster/control-plane/authority.ts";
import { ManualClock } from "../support/manual-clock.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "credentials-"));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFile(join(directory, name), text);

const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "c", cluster: { server: "https://10.0.0.1:6443/prefix/", "insecure-skip-tls-verify": true } }],
  users: [{ name: "u", user: { token: "secret" } }],
  contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "apps" } }],
  "current-context": "x",
};

describe("in a pod", () => {
  const clock = new ManualClock();
  const load = () => inClusterCredentials({ host: "10.96.0.1", port: "443", directory, clock });

  beforeEach(async () => {
    await write("token", "one\n");
    await write("ca.crt", "CA");
    await write("namespace", "apps");
  });

  test("server, namespace, CA and token come from the environment and the mounted files", async () => {
    const credentials = await load();
    expect(credentials.server).toBe("https://10.96.0.1:443");
    expect(credentials.namespace).toBe("apps");
    expect(await credentials.current()).toEqual({ tls: { ca: "CA" }, headers: { authorization: "Bearer one" } });
  });

  test("an IPv6 host gets its brackets", async () => {
    expect((await inClusterCredentials({ host: "fd00::1", port: "443", directory })).server).toBe(
      "https://[fd00::1]:443",
    );
  });

  test("the token is read again after a minute, and the TLS material stays the same object", async () => {
    const credentials = await load();
    const before = await credentials.current();
    await write("token", "two");
    await clock.advance(RELOAD_INTERVAL_MS - 1);
    expect((await credentials.current()).headers.authorization).toBe("Bearer one");
    await clock.advance(1);
    const after = await credentials.current();
    expect(after.headers.authorization).toBe("Bearer two");
    expect(after.tls).toBe(before.tls);
    await write("ca.crt", "NEW CA");
    await clock.advance(RELOAD_INTERVAL_MS);
    expect((await credentials.current()).tls).toEqual({ ca: "NEW CA" });
  });

  test("the token is read again at once after a refusal", async () => {
    const credentials = await load();
    await write("token", "two");
    credentials.refresh();
    expect((await credentials.current()).headers.authorization).toBe("Bearer two");
  });

  test("while the file cannot be read the last token is used", async () => {
    const credentials = await load();
    await rm(join(directory, "token"));
    credentials.refresh();
    expect((await credentials.current()).headers.authorization).toBe("Bearer one");
  });

  test("a pod without the mounted token is told what is wrong", async () => {
    await rm(join(directory, "token"));
    await expect(load()).rejects.toThrow("Is automountServiceAccountToken off?");
  });
});

describe("from a kubeconfig", () => {
  const text = (change: object = {}) => JSON.stringify({ ...KUBECONFIG, ...change });

  test("given as text", async () => {
    const credentials = await credentialsFromKubeconfig(text());
    expect(credentials).toMatchObject({ server: "https://10.0.0.1:6443/prefix", namespace: "apps" });
    const { tls, headers } = await credentials.current();
    expect(headers).toEqual({ authorization: "Bearer secret" });
    expect(tls.rejectUnauthorized).toBe(false);
  });

  test("named by KUBECONFIG, several merged, which goes before the pod's own", async () => {
    await write("one", text({ users: [] }));
    await write("two", text({ clusters: [], contexts: [], "current-context": "" }));
    const credentials = await loadCredentials({
      KUBECONFIG: `${join(directory, "one")}:${join(directory, "two")}`,
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      KUBERNETES_SERVICE_PORT: "443",
    });
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer secret" });
  });

  test("of several files the first that names something counts, and one that does not exist is left out", async () => {
    await write("one", text({ contexts: [], "current-context": "" }));
    const other = { ...KUBECONFIG.clusters[0], cluster: { server: "https://10.9.9.9:6443" } };
    await write("two", text({ clusters: [other], users: [{ name: "u", user: { token: "other" } }] }));
    const files = ["one", "missing", "two"].map((name) => join(directory, name));
    const credentials = await userCredentials({ KUBECONFIG: files.join(delimiter) });
    expect(credentials.server).toBe("https://10.0.0.1:6443/prefix");
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer secret" });
    await expect(userCredentials({ KUBECONFIG: `/nowhere/a${delimiter}/nowhere/b` })).rejects.toThrow(
      "None of the kubeconfig files exists: /nowhere/a, /nowhere/b.",
    );
  });

  test("named by the user, with another context than the current one", async () => {
    const [context] = KUBECONFIG.contexts;
    const other = { name: "other", context: { ...context?.context, namespace: "lab" } };
    await write("config", text({ contexts: [context, other] }));
    const asked = { kubeconfig: join(directory, "config"), context: "other" };
    expect((await userCredentials({ KUBECONFIG: "/nowhere" }, asked)).namespace).toBe("lab");
  });

  test("in the home directory", async () => {
    await mkdir(join(directory, ".kube"));
    await write(".kube/config", text());
    expect((await loadCredentials({ HOME: directory })).source).toBe(join(directory, ".kube/config"));
  });

  test("whose file changed is read again after a refusal", async () => {
    await write("config", text());
    const credentials = await credentialsFromKubeconfig(join(directory, "config"));
    await write("config", text({ users: [{ name: "u", user: { token: "renewed" } }] }));
    credentials.refresh();
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer renewed" });
  });

  test("whose client certificate was renewed on disk takes the new one, and keeps the TLS material until then", async () => {
    const authority = await Authority.create("ca");
    const issue = async () => {
      const { cert, key } = await authority.issue({ commonName: "u", usage: ["client"] });
      await Promise.all([write("client.crt", cert), write("client.key", key)]);
      return cert;
    };
    const first = await issue();
    const user = { "client-certificate": join(directory, "client.crt"), "client-key": join(directory, "client.key") };
    await write("config", text({ users: [{ name: "u", user }] }));
    const credentials = await credentialsFromKubeconfig(join(directory, "config"));
    const before = await credentials.current();
    expect(String(before.tls.cert)).toBe(first);
    credentials.refresh();
    expect((await credentials.current()).tls).toBe(before.tls);
    const second = await issue();
    credentials.refresh();
    expect(String((await credentials.current()).tls.cert)).toBe(second);
  });

  test("whose user has a token file takes the token from it, before `token`, and reads it again", async () => {
    await write("token", "one\n");
    await write("config", text({ users: [{ name: "u", user: { token: "fixed", tokenFile: "token" } }] }));
    const credentials = await credentialsFromKubeconfig(join(directory, "config"));
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer one" });
    await write("token", "two\n");
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer one" });
    credentials.refresh();
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer two" });
    await write("token", "\n");
    credentials.refresh();
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer two" });
  });

  test("with an exec plugin runs it, and again after a refusal", async () => {
    const script = `#!/bin/sh
echo x >> ${directory}/runs
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'
`;
    await writeFile(join(directory, "plugin"), script, { mode: 0o755 });
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: join(directory, "plugin"),
      interactiveMode: "Never",
    };
    const credentials = await credentialsFromKubeconfig(text({ users: [{ name: "u", user: { exec } }] }));
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer from-plugin" });
    credentials.refresh();
    expect((await credentials.current()).headers).toEqual({ authorization: "Bearer from-plugin" });
  });

  test("an exec plugin with a slash is relative to its kubeconfig, and is told which answer is expected", async () => {
    const script = `#!/bin/sh
echo '{"kind":"ExecCredential","status":{"token":"'$(echo $KUBERNETES_EXEC_INFO | grep -o client.auth[a-z0-9./]*)'"}}'
`;
    await writeFile(join(directory, "plugin"), script, { mode: 0o755 });
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin", interactiveMode: "Never" };
    await write("config", text({ users: [{ name: "u", user: { exec } }] }));
    const credentials = await credentialsFromKubeconfig(join(directory, "config"));
    expect((await credentials.current()).headers).toEqual({
      authorization: "Bearer client.authentication.k8s.io/v1",
    });
  });

  test("nowhere at all names what to set", async () => {
    await expect(loadCredentials({})).rejects.toThrow("Set KUBECONFIG.");
  });
});
