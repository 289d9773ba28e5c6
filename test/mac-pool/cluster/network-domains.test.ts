import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { NetworkDomains } from "../../../src/mac-pool/cluster/network-domains.ts";
import { ScriptedServer } from "../../kube/support/scripted-server.ts";
import { eventually } from "../../support/eventually.ts";

let server: ScriptedServer;

beforeAll(async () => {
  server = await ScriptedServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

it("knows nothing of networks whose reads, begun or waiting, were given up", async () => {
  await using client = new KubeClient({ credentials: server.credentials() });
  const networks = new NetworkDomains({ client, scopeIn: () => "Network", log: silentLog, metrics: new Registry() });
  const owners = Array.from({ length: 8 }, (_, number) => ({ namespace: "red", network: `multus net-${number}` }));
  const late = new AbortController();
  const answer = networks.of(owners, late.signal);
  await eventually("as many reads as may run at once", () => server.pending.length === 4);
  late.abort(new Error("no decision in time"));
  const domainsOf = await answer;
  expect(owners.map(domainsOf)).toEqual(owners.map(() => undefined));
});
