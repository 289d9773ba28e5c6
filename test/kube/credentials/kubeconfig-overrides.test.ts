import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { describe, expect, it } from "vitest";
import { type KubeconfigOverrides, override } from "../../../src/kube/credentials/kubeconfig-overrides.ts";

const AUTHORITY = Buffer.from("authority").toString("base64");

const KUBECONFIG = {
  clusters: ["one", "two"].map((name) => ({
    name,
    cluster: { server: `https://${name}:6443`, "certificate-authority-data": AUTHORITY },
  })),
  users: ["ann", "bob"].map((name) => ({ name, user: { token: name } })),
  contexts: [{ name: "main", context: { cluster: "one", user: "ann", namespace: "lab" } }],
  "current-context": "main",
};

function overridden(overrides: KubeconfigOverrides, kubeconfig: object = KUBECONFIG) {
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(kubeconfig));
  override(config, "config", overrides);
  const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()];
  return {
    server: cluster?.server,
    authority: cluster?.caData,
    skips: cluster?.skipTLSVerify,
    user: user?.name,
    namespace: config.getContextObject(config.currentContext)?.namespace,
  };
}

describe("what a user says in place of the kubeconfig", () => {
  const own = { server: "https://one:6443", authority: AUTHORITY, skips: false, user: "ann", namespace: "lab" };

  it.each([
    ["nothing", {}, own],
    ["a cluster", { cluster: "two" }, { ...own, server: "https://two:6443" }],
    ["a user", { user: "bob" }, { ...own, user: "bob" }],
    ["a server, which has the certificate of the cluster", { server: "https://x" }, { ...own, server: "https://x" }],
    ["no check of certificates", { insecureSkipTlsVerify: true }, { ...own, authority: undefined, skips: true }],
  ] as const)("%s", (_, overrides, expected) => {
    expect(overridden(overrides)).toEqual(expected);
  });

  it("makes a context where there is none", () => {
    const bare = { ...KUBECONFIG, contexts: [], "current-context": "" };
    expect(overridden({ cluster: "two", user: "bob" }, bare)).toMatchObject({
      server: "https://two:6443",
      user: "bob",
    });
    expect(overridden({ user: "bob" }, bare)).toMatchObject({ server: undefined, user: undefined });
  });

  it("is refused for a name that the kubeconfig does not have", () => {
    expect(() => overridden({ cluster: "moon" })).toThrow(
      'config: cluster "moon" is not among its clusters: choose one (one, two).',
    );
    expect(() => overridden({ user: "eve" })).toThrow(
      'config: user "eve" is not among its users: choose one (ann, bob).',
    );
  });
});
