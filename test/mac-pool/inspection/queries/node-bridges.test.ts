import { expect, it, vi } from "vitest";
import type { NodeMACs } from "../../../../src/api/node-macs.ts";
import { NodeBridges } from "../../../../src/mac-pool/inspection/queries/node-bridges.ts";
import { bridgeOf, reportOf } from "../networks.ts";

const NO_NODES = { get: () => undefined, on: () => () => {} };

it("reads the reports of nodes one by one, each once", async () => {
  const reports = Array.from({ length: 20 }, (_, index) => reportOf(`node-${index}`, [bridgeOf("br1")]) as NodeMACs);
  const bridges = new NodeBridges({ list: () => reports, on: () => () => {} }, NO_NODES);
  const stringify = vi.spyOn(JSON, "stringify");
  const written: number[] = [];
  const share = async (): Promise<void> => void written.push(stringify.mock.calls.length);
  await bridges.read({ share });
  const nodes = bridges.all.get("br1")?.on.length;
  await bridges.read({ share });
  written.push(stringify.mock.calls.length);
  stringify.mockRestore();
  expect(nodes).toBe(20);
  expect(written).toEqual([...Array.from({ length: 20 }, (_, index) => 2 * (index + 1)), 40]);
});
