import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KubeClient } from "../../src/kube/client/client.ts";
import { limitedRow, mayBeNone, measuresNothing, missingOf, row } from "./bench.ts";
import { countTraffic, trafficSince } from "./kube-traffic.ts";

describe("a benchmark", () => {
  it("that measures nothing says so, whatever its goal", () => {
    const rows = [
      row("ours", "MB", 0, 5, 0.9),
      row("peer", "ms", 5, 0, null),
      limitedRow("under a limit", "kB", 0, null, 60),
      row("no number", "requests", Number.NaN, null, null),
    ];
    expect(rows.filter(({ ok }) => ok).map(({ what }) => what)).toContain("under a limit");
    expect(rows.filter(measuresNothing)).toEqual(rows);
  });

  it("may find that nothing happens", () => {
    const rows = [limitedRow("idle", "requests", 0, null, 0), mayBeNone(limitedRow("idle", "ms", 0, null, 1))];
    expect(rows.filter(measuresNothing)).toEqual([]);
    expect(measuresNothing(row("both", "ms", 4, 5, 1))).toBe(false);
  });

  it("names what is missing on the machine, and takes any program that will do", () => {
    const need = { purpose: "to look", debianPackage: "eyes" };
    const env = { PATH: "/usr/bin" };
    expect(missingOf([{ ...need, programs: ["no-such-eye", "sh"] }], env)).toEqual([]);
    expect(missingOf([{ ...need, programs: ["no-such-eye"] }], env)).toEqual([
      "no-such-eye not found, needed to look: install the package eyes (Debian: apt-get install eyes).",
    ]);
  });
});

describe("the traffic of a benchmark", () => {
  const server = createServer((_request, response) => response.end('{"kind":"ConfigMap"}'));
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  afterAll(() => server.close());

  it("counts what the client of the product receives, on new connections and on kept ones", async () => {
    const traffic = countTraffic();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const credentials = {
      server: url,
      namespace: undefined,
      source: "test",
      current: async () => ({ tls: {}, headers: {} }),
      refresh() {},
    };
    await using client = new KubeClient({ credentials });
    for (let before = traffic(), asked = 0; asked < 2; asked++, before = traffic()) {
      await client.raw("GET", "/version");
      const { lists, receivedMb } = trafficSince(before, traffic());
      expect(lists).toBe(1);
      expect(receivedMb).toBeGreaterThan(0);
    }
  });
});
