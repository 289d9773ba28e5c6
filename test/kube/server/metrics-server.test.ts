import { Agent, request } from "node:https";
import { connect, type SecureVersion, type TLSSocket } from "node:tls";
import { Gauge, Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { selfSigned } from "../../../src/certs/self-signed.ts";
import { tlsLimits } from "../../../src/certs/tls-profile.ts";
import { MetricsAccess } from "../../../src/kube/access/metrics-access.ts";
import { TooManyReviews } from "../../../src/kube/access/review-cache.ts";
import type { User } from "../../../src/kube/access/user.ts";
import type { ServerCertificate } from "../../../src/kube/server/certificate-source.ts";
import { metricsServer } from "../../../src/kube/server/metrics-server.ts";
import type { RouteServer } from "../../../src/kube/server/route-server.ts";
import { Crowd, HALF_SENT } from "../support/crowd.ts";

const LIFETIME_MS = 3_600_000;

const newCertificate = (): ServerCertificate =>
  selfSigned({ name: "metrics", nowMs: Date.now(), lifetimeMs: LIFETIME_MS });

describe("a process's metrics", () => {
  let server: RouteServer;
  let agent: Agent;
  let certificate: ServerCertificate;
  let changed: () => void;
  let users: (token: string | undefined) => Promise<User | undefined>;

  beforeEach(async () => {
    certificate = newCertificate();
    users = async (authorization) =>
      authorization === undefined ? undefined : { username: authorization.slice(7), uid: "", groups: [], extra: {} };
    const access = new MetricsAccess({
      tokens: { userOf: (authorization) => users(authorization) },
      access: {
        isAllowed: async ({ username }, permission) =>
          username === "prometheus" && "path" in permission && permission.path === "/metrics",
      },
    });
    const metrics = new Registry();
    new Gauge({ name: "answer", help: "What it is.", registers: [metrics] }).set(42);
    const onChange = (listener: () => void) => {
      changed = listener;
      return () => {};
    };
    const tls = { current: () => certificate, onChange };
    server = metricsServer({ port: 0, host: "127.0.0.1", tls, access, metrics });
    await server.listen();
    agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  });
  afterEach(async () => {
    agent.destroy();
    await server[Symbol.asyncDispose]();
  });

  interface Got {
    readonly status: number;
    readonly body: string;
    readonly challenge: string | undefined;
    readonly fingerprint: string;
  }

  function get(token?: string, path = "/metrics", method = "GET"): Promise<Got> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port: server.port, path, method, headers, agent });
      asked.on("error", reject);
      asked.on("response", async (response) => {
        const { fingerprint256: fingerprint } = (response.socket as TLSSocket).getPeerCertificate();
        const body = (await response.toArray()).join("");
        const challenge = response.headers["www-authenticate"];
        resolve({ status: response.statusCode ?? 0, body, challenge, fingerprint });
      });
      asked.end();
    });
  }

  it("are for those who may get /metrics", async () => {
    expect(await get()).toMatchObject({ status: 401, challenge: "Bearer" });
    expect(await get("guest")).toMatchObject({ status: 403, body: 'user "guest" may not get /metrics\n' });
    const { status, body } = await get("prometheus");
    expect([status, body.split("\n")]).toEqual([200, expect.arrayContaining(["answer 42"])]);
    expect((await get("prometheus", "/healthz")).status).toBe(404);
    expect((await get("prometheus", "/metrics", "POST")).status).toBe(405);
  });

  it("are refused while it can't be checked who asks", async () => {
    users = async () => {
      throw new TooManyReviews("too many questions are under way");
    };
    expect(await get("prometheus")).toMatchObject({ status: 503, body: expect.stringContaining("too many others") });
    users = async () => {
      throw new Error("secret detail");
    };
    const { status, body } = await get("prometheus");
    expect([status, body]).toEqual([503, expect.stringContaining("the API server does not answer")]);
    expect(body).not.toContain("secret");
  });

  it.each(Object.entries(HALF_SENT))(
    "are answered while another client opens 300 connections with %s",
    async (_, sent) => {
      using crowd = new Crowd();
      await crowd.connect({ port: server.port, count: 300, sent, localAddress: "127.66.0.1" });
      expect(await get("prometheus")).toMatchObject({ status: 200 });
      await expect.poll(() => crowd.open).toBeLessThanOrEqual(100);
    },
  );

  it("go on over a rotation of the certificate, which new connections get", async () => {
    const before = await get("prometheus");
    certificate = newCertificate();
    changed();
    expect(await get("prometheus")).toMatchObject({ status: 200, fingerprint: before.fingerprint });
    agent.destroy();
    agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    const after = await get("prometheus");
    expect(after.status).toBe(200);
    expect(after.fingerprint).not.toBe(before.fingerprint);
  });

  it("stay with the last certificate and limits that can be used", async () => {
    certificate = { ...certificate, key: "nonsense" };
    changed();
    expect((await get("prometheus")).status).toBe(200);
  });

  it("follow the TLS profile from one connection to the next", async () => {
    const speaking = (version: SecureVersion): Promise<string> =>
      new Promise((resolve) => {
        const options = { minVersion: version, maxVersion: version, rejectUnauthorized: false };
        const socket = connect({ host: "127.0.0.1", port: server.port, ...options }, () => {
          resolve(String(socket.getProtocol()));
          socket.destroy();
        });
        socket.once("error", () => resolve("refused"));
      });
    const setProfile = (type: "Modern" | "Intermediate"): void => {
      certificate = { ...certificate, limits: tlsLimits({ type }) };
      changed();
    };
    setProfile("Modern");
    expect([await speaking("TLSv1.2"), await speaking("TLSv1.3")]).toEqual(["refused", "TLSv1.3"]);
    setProfile("Intermediate");
    expect([await speaking("TLSv1.2"), await speaking("TLSv1.3")]).toEqual(["TLSv1.2", "TLSv1.3"]);
    setProfile("Modern");
    expect(await speaking("TLSv1.2")).toBe("refused");
  });
});
