/** Inspection with 100,000 claims. Server and reader are processes of their own. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MANAGER_NODE_FLAGS } from "../../src/api/image.ts";
import { Authority } from "../cluster/control-plane/authority.ts";
import { getFrom } from "../mac-pool/rest-client.ts";
import { askChild } from "./ask-child.ts";
import { type Bench, type BenchRow, limitedRow, percentile, row } from "./bench.ts";
import { bindApart } from "./cores.ts";
import type { AskerOrder } from "./inspection-asker.ts";
import { CORES } from "./needs.ts";

const CLAIMS = 100_000;
const CALLS = 1_000;
const WARM_UP = 30;
/** So that the young generation is collected hardly ever. */
const ASKER_NODE_FLAGS = ["--max-semi-space-size=16"];
/** Of the namespaces that have claims. */
const TENANTS = 50;
const READER = "viewer";
const NETWORKS = "/api/v1/networks";

export const bench: Bench = {
  about: `inspection with ${CLAIMS} claims`,
  needs: CORES,
  async run({ log, short }) {
    const folder = await mkdtemp(join(tmpdir(), "inspection-bench-"));
    const authority = await Authority.create("bench-ca");
    const { cert, key } = await authority.issue({ commonName: "bench", addresses: ["127.0.0.1"], usage: ["server"] });
    const files = [join(folder, "cert.pem"), join(folder, "key.pem")];
    await Promise.all([cert, key].map((text, at) => writeFile(files[at] ?? "", text, { mode: 0o600 })));
    log(`filling caches with ${CLAIMS} claims`);
    const child = fork(join(import.meta.dirname, "inspection-server.ts"), [...files, String(CLAIMS)], {
      execArgv: [...MANAGER_NODE_FLAGS],
    });
    const asker = fork(join(import.meta.dirname, "inspection-asker.ts"), { execArgv: ASKER_NODE_FLAGS });
    try {
      const [{ port, example }] = (await once(child, "message")) as [{ port: number; example: string }];
      const url = `https://127.0.0.1:${port}`;
      const { body: first } = await getFrom(url, authority.certificate, "/api/v1/claims?limit=5000", READER);
      const questions: readonly [string, string, number][] = [
        ["first page of 500 claims", "/api/v1/claims", 20],
        ["page of 500 claims behind a token", `/api/v1/claims?continue=${first.continue}`, 20],
        ["page of the claims of a namespace", "/api/v1/claims?namespace=tenant-7", 20],
        ["page of the claims of a phase", "/api/v1/claims?phase=Bound", 20],
        ["page of the pools", "/api/v1/pools", 20],
        ["page of the namespaces", "/api/v1/namespaces", 20],
        ["page of the collisions", "/api/v1/collisions", 20],
        ["page of 1,000 refusals", "/api/v1/denials", 20],
        ["consistency, which is kept for five seconds", "/api/v1/consistency", 20],
        ["search by a part of an address", `/api/v1/claims?search=${example.slice(9, 14)}&limit=50`, 30],
        ["search by a part of a name", "/api/v1/claims?search=vm-4321&limit=50", 30],
        ["search that finds every claim", "/api/v1/claims?search=0&limit=50", 30],
        ["claims by a part of an address that all have", "/api/v1/claims?mac=02&limit=50", 30],
        ["claims of an owner that does not exist", "/api/v1/claims?owner=x&limit=50", 30],
        ["page of 100 of 500 networks on 1,000 nodes with 20,000 VMs", NETWORKS, 30],
        ["page of 500 networks", `${NETWORKS}?limit=500`, 30],
        ["search in 500 networks", `${NETWORKS}?search=lan-49`, 30],
        ["networks of a namespace", `${NETWORKS}?namespace=tenant-7`, 30],
        ["one network with its 1,000 nodes", `${NETWORKS}/tenant-7/vlan-7`, 30],
        ["bridges of 1,000 nodes", "/api/v1/bridges", 30],
        ["map of 4,096 cells", "/api/v1/pools/default/map?cells=4096", 20],
      ];
      const rows: BenchRow[] = [];
      const samplesOf = (path: string, calls: number): Promise<readonly number[]> =>
        askChild(asker, { port, path, token: READER, calls } satisfies AskerOrder);
      await bindApart(asker.pid ?? 0, child.pid ?? 0);
      for (const [what, path, limit] of questions) {
        await samplesOf(path, WARM_UP);
        const samples = await samplesOf(path, short ? CALLS / 5 : CALLS);
        const [p50, p99] = [percentile(samples, 0.5), percentile(samples, 0.99)];
        rows.push(limitedRow(`${what}, p99 (p50 ${p50.toFixed(2)})`, "ms", p99, null, limit));
      }
      const unkept: number[] = [];
      for (let i = 0; i < TENANTS; i++)
        unkept.push(...(await samplesOf(`/api/v1/consistency?namespace=tenant-${i}`, 1)));
      const { body: page } = await getFrom(url, authority.certificate, NETWORKS, READER);
      const pageKb = JSON.stringify(page).length / 1_000;
      rows.push(limitedRow("size of a page of 100 networks", "kB", pageKb, null, 200));
      const never = "consistency of a namespace that nobody asked for lately, p99";
      return [...rows, row(never, "ms", percentile(unkept, 0.99), null, null)];
    } finally {
      asker.disconnect();
      child.disconnect();
      await rm(folder, { recursive: true, force: true });
    }
  },
};
