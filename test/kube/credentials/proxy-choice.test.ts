import { describe, expect, it } from "vitest";
import { proxyFromEnvironment } from "../../../src/kube/credentials/proxy-choice.ts";

const PROXY = "http://proxy.example:3128";

function choice(server: string, env: Record<string, string>): string | undefined {
  return proxyFromEnvironment(new URL(server), env)?.href;
}

describe("the proxy of the environment", () => {
  it.each([
    ["https://api.example:6443", { HTTPS_PROXY: PROXY }, `${PROXY}/`],
    ["https://api.example:6443", { https_proxy: PROXY }, `${PROXY}/`],
    ["https://api.example:6443", { HTTPS_PROXY: "", https_proxy: PROXY }, `${PROXY}/`],
    ["https://api.example:6443", { HTTP_PROXY: PROXY }, undefined],
    ["http://api.example:8080", { HTTP_PROXY: PROXY }, `${PROXY}/`],
    ["http://api.example:8080", { HTTPS_PROXY: PROXY }, undefined],
    ["https://api.example:6443", { HTTPS_PROXY: "proxy.example:3128" }, `${PROXY}/`],
    ["https://api.example:6443", { HTTPS_PROXY: "socks5://proxy.example" }, "socks5://proxy.example"],
  ] as const)("leads to %s by the server's scheme: %o", (server, env, proxy) => {
    expect(choice(server, env)).toBe(proxy);
  });

  it.each(["https://localhost:6443", "https://127.0.0.1:6443", "https://127.9.9.9", "https://[::1]:6443"])(
    "never leads to this machine itself: %s",
    (server) => {
      expect(choice(server, { HTTPS_PROXY: PROXY })).toBeUndefined();
    },
  );

  it.each([
    ["*", "https://api.example:6443", true],
    ["example", "https://api.example:6443", true],
    ["api.example", "https://api.example:6443", true],
    [".example", "https://api.example:6443", true],
    ["*.example", "https://api.example:6443", true],
    ["API.Example", "https://api.example:6443", true],
    ["pi.example", "https://api.example:6443", false],
    [".api.example", "https://api.example:6443", false],
    ["*.api.example", "https://api.example:6443", false],
    ["api.example:6443", "https://api.example:6443", true],
    ["api.example:443", "https://api.example:6443", false],
    ["api.example:443", "https://api.example", true],
    ["other.example, ,api.example", "https://api.example:6443", true],
    ["10.0.0.0/8", "https://10.96.0.1", true],
    ["10.0.0.0/8", "https://11.96.0.1", false],
    ["10.0.0.0/33", "https://10.96.0.1", false],
    ["10.96.0.1", "https://10.96.0.1:6443", true],
    ["10.96.0.1:443", "https://10.96.0.1:6443", false],
    ["fd00::/8", "https://[fd00::1]:6443", true],
    ["fd00::1", "https://[fd00::1]:6443", true],
    ["[fd00::1]:6443", "https://[fd00::1]:6443", true],
    ["[fd00::1]:443", "https://[fd00::1]:6443", false],
    ["", "https://api.example:6443", false],
  ])("is left aside where NO_PROXY %j names %s: %s", (noProxy, server, isDirect) => {
    expect(choice(server, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy })).toBe(isDirect ? undefined : `${PROXY}/`);
  });

  it("is refused where it is no URL of a proxy", () => {
    expect(() => choice("https://api.example", { HTTPS_PROXY: "gopher://proxy.example/:x:" })).toThrow(
      "HTTPS_PROXY is not a URL of a proxy: write it as http://HOST:PORT.",
    );
  });
});
