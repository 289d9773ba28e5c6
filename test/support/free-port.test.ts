import { expect, test } from "vitest";
import { firstPortOfConnections, freePort } from "./free-port.ts";

test("gives each port once, and none that the kernel may give to a connection", async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()));
  expect(new Set(ports).size).toBe(200);
  expect(ports.filter((port) => port >= firstPortOfConnections())).toEqual([]);
});
