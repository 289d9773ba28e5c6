/**
 * Client and informer of `src/kube` against client-node's informer and bare undici, on one real API server full of
 * MACClaims. `KUBE_BENCH_CLAIMS`, `KUBE_BENCH_SECONDS`, `KUBE_BENCH_ROUNDS` make it shorter.
 */

import { MAC_CLAIM_CRD } from "../../src/api/crds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { type Credentials, credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { type Bench, row } from "./bench.ts";
import { median } from "./cni-timer.ts";
import { CLAIMS, StoredClaims } from "./kube-claims.ts";
import { measureCreates } from "./kube-creates.ts";
import { measureEvents } from "./kube-events.ts";
import type { Setup } from "./kube-sides.ts";
import type { SubjectStart } from "./kube-subject.ts";
import { measureSync } from "./kube-synced.ts";
import { CONTROL_PLANE } from "./needs.ts";

const CREATES = 2_000;
const IN_FLIGHT = 32;
const CREATE_DEADLINE_MS = 60_000;

export const bench: Bench = {
  about: "client and informer against client-node's informer and bare undici, one real API server; medians",
  needs: CONTROL_PLANE,
  async run(context) {
    const number = (name: string, normal: number) => Number(context.env[name] ?? normal);
    await using controlPlane = await startControlPlane({
      apiServerArguments: [
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
        // Every five minutes it reads and decodes all claims from etcd: seconds that would count as somebody's.
        "--feature-gates=DetectCacheInconsistency=false",
        // For collectServerGarbage.
        "--profiling=true",
      ],
    });
    const credentials = await credentialsFromKubeconfig(controlPlane.kubeconfig);
    await using client = new KubeClient({ credentials });
    const setup: Setup = {
      context,
      client,
      etcdUrl: controlPlane.etcdUrl,
      connection: { kubeconfig: controlPlane.kubeconfig, server: controlPlane.url, tls: await tlsOf(credentials) },
      claims: number("KUBE_BENCH_CLAIMS", 100_000),
      rounds: number("KUBE_BENCH_ROUNDS", 5),
      seconds: number("KUBE_BENCH_SECONDS", 60),
    };
    const rounds = setup.rounds + 2;
    context.log(`${CREATES} creates, ${IN_FLIGHT} in flight, ${rounds} rounds a side`);
    const options = { count: CREATES, inFlight: IN_FLIGHT, rounds };
    const creates = await measureCreates(client, credentials, options);
    const rows = [
      row(`${CREATES} creates, ${IN_FLIGHT} in flight`, "ms", median(creates.ours), median(creates.peer), 1.1),
    ];
    const stored = await prepare(setup);
    rows.push(...(await measureSync(setup)));
    rows.push(...(await measureEvents(setup, stored)));
    return rows;
  },
};

async function tlsOf(credentials: Credentials): Promise<SubjectStart["tls"]> {
  const { ca = "", cert = "", key = "" } = (await credentials.current()).tls;
  return { ca: String(ca), cert: String(cert), key: String(key) };
}

async function prepare({ client, claims, context, etcdUrl }: Setup): Promise<StoredClaims> {
  await client.create(RESOURCES.crds, MAC_CLAIM_CRD as never);
  const deadlineMs = performance.now() + CREATE_DEADLINE_MS;
  while ((await client.raw("GET", "/apis/macpool.network.kubevirt.io/v1alpha1/macclaims?limit=1")).status !== 200) {
    if (performance.now() > deadlineMs) throw new Error("the API server does not serve MACClaims");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  context.log(`creating ${claims} MACClaims`);
  const stored = await StoredClaims.create(client, etcdUrl);
  await stored.fill(claims);
  context.log("waiting until the API server has read them from etcd");
  while (!(await stored.isCached(client, claims - 1))) await new Promise((resolve) => setTimeout(resolve, 100));
  const [first] = (await client.page(CLAIMS, { limit: 1 })).items;
  context.log(`one claim has ${JSON.stringify(first).length} bytes`);
  return stored;
}
