import { createServer as createPlain } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Transport } from "../../../src/kube/client/transport.ts";
import type { Credentials } from "../../../src/kube/credentials/credentials.ts";
import { tunnelsOf } from "../../../src/kube/credentials/tunnel.ts";
import { Authority } from "../../cluster/control-plane/authority.ts";
import { TunnelProxy } from "../support/tunnel-proxy.ts";

/** A name that only the proxies know. */
const NAME = "api.cluster.invalid";

describe("the transport behind a proxy", () => {
  let ca: string;
  const answer = (_: unknown, response: { end(text: string): void }): void => response.end("hello");
  const plain = createPlain(answer);
  let secure: ReturnType<typeof createServer>;

  beforeAll(async () => {
    const authority = await Authority.create("test");
    const pair = await authority.issue({ commonName: NAME, dnsNames: [NAME], usage: ["server"] });
    ca = authority.certificate;
    secure = createServer({ ...pair }, answer);
    for (const server of [plain, secure]) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    for (const server of [plain, secure]) {
      server.closeAllConnections();
      server.close();
    }
  });

  const portOf = (scheme: "http" | "https"): number =>
    ((scheme === "http" ? plain : secure).address() as AddressInfo).port;

  const credentials = (scheme: string, port: number, proxy: string): Credentials => {
    const current = { tls: { ca }, headers: {} };
    const server = `${scheme}://${NAME}:${port}`;
    const rest = { namespace: undefined, source: "the test", refresh: () => {} };
    return { ...rest, server, proxied: tunnelsOf(new URL(proxy)), current: async () => current };
  };

  async function ask(transport: Transport): Promise<string> {
    const { body } = await transport.send({ method: "GET", path: "/", headers: {}, idleTimeoutMs: 5_000 });
    let text = "";
    for await (const chunk of body) text += chunk;
    return text;
  }

  it.each([
    ["http", "https"],
    ["socks", "https"],
    ["http", "http"],
    ["socks", "http"],
  ] as const)("keeps one tunnel of a proxy for requests that follow each other: %s to %s", async (kind, scheme) => {
    await using proxy = await TunnelProxy[kind](`127.0.0.1:${portOf(scheme)}`);
    const transport = new Transport(credentials(scheme, portOf(scheme), proxy.url));
    for (let time = 0; time < 3; time++) expect(await ask(transport)).toBe("hello");
    expect(proxy.asked).toEqual([`${NAME}:${portOf(scheme)}`]);
    transport.close();
  });

  it("says which proxy is away, and that nothing was sent", async () => {
    const gone = await TunnelProxy.http("127.0.0.1:1");
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    const transport = new Transport(credentials("https", 1, url.replace("//", "//me:secret@")));
    const fault = await ask(transport).catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: "ConnectionError", written: false });
    expect(String(fault)).toContain(`proxy ${url}: ECONNREFUSED`);
    expect(String(fault)).not.toContain("secret");
  });

  it("ends a tunnel that is not open yet with the transport", async () => {
    await using silent = await TunnelProxy.silent();
    const transport = new Transport(credentials("https", 1, silent.url));
    const asked = ask(transport).catch((error: unknown) => error);
    await expect.poll(() => silent.connections).toBe(1);
    transport.close();
    expect(await asked).toMatchObject({ name: "ConnectionError", written: false });
    await expect.poll(() => silent.connections).toBe(0);
  });
});
