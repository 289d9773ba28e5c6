import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { client, controlPlane } from "../../support/api-server-harness.ts";
import { eventually } from "../../support/eventually.ts";
import { share } from "../../support/share.ts";

const namespace = "default";
const NAME = "stopped";
const ROUNDS = Number(process.env.KUBE_STOPS ?? share(3));

const replicas: Replica[] = [];

class Replica {
  readonly process: ChildProcess;
  conflicts = 0;
  thoughts = 0;

  constructor(identity: string) {
    const fixture = join(import.meta.dirname, "fixture/leader.ts");
    this.process = fork(fixture, [controlPlane.kubeconfig, namespace, NAME, identity]);
    this.process.on("message", (message: { conflict?: boolean; thinking?: boolean }) => {
      this.conflicts += message.conflict ? 1 : 0;
      this.thoughts += message.thinking ? 1 : 0;
    });
    replicas.push(this);
  }
}

afterAll(async () => {
  for (const { process } of replicas) {
    process.kill("SIGKILL");
  }
});

test("a leader that is stopped and goes on after another has taken over changes nothing any more", async () => {
  const ref = { namespace, name: `${NAME}-work` };
  const created = await client.create(RESOURCES.configMaps, { metadata: ref, data: { count: "0", by: "nobody" } });
  const history: { count: number; by: string }[] = [];
  const watching = new AbortController();
  const { resourceVersion } = created.metadata;
  const watched = (async () => {
    const options = { namespace, fieldSelector: `metadata.name=${ref.name}`, resourceVersion, signal: watching.signal };
    for await (const { type, object } of client.watch(RESOURCES.configMaps, options)) {
      if (type === "MODIFIED") {
        history.push({ count: Number(object.data?.count), by: object.data?.by ?? "" });
      }
    }
  })().catch((error: unknown) => {
    if (!watching.signal.aborted) throw error;
  });
  const byName = new Map(["a", "b"].map((identity) => [identity, new Replica(identity)]));
  const leader = () => (history.at(-1)?.by ?? "").split("/")[0] ?? "";
  for (let round = 0; round < ROUNDS; round++) {
    const old = await eventually("somebody leads and works", () => byName.has(leader()) && leader());
    const replica = byName.get(old);
    const stopped = replica?.process;
    const { thoughts = 0 } = replica ?? {};
    await eventually("it has read and not written yet", () => (replica?.thoughts ?? 0) > thoughts);
    stopped?.kill("SIGSTOP");
    await eventually("the other one took over", () => leader() !== old && leader() !== "", { limitMs: 30_000 });
    const at = history.length;
    stopped?.kill("SIGCONT");
    await eventually("the new leader works on", () => history.length > at + 10, { limitMs: 30_000 });
  }
  const conflicts = () => replicas.reduce((sum, replica) => sum + replica.conflicts, 0);
  await eventually("stale writes were tried and refused", () => conflicts() > 0);
  watching.abort();
  await watched;
  // Each term is one unbroken run of writes, and no write went by unseen: nobody came back into a term that was over.
  const terms = history.map(({ by }) => by).filter((by, index, all) => by !== all[index - 1]);
  expect(new Set(terms).size).toBe(terms.length);
  expect(terms.length).toBeGreaterThanOrEqual(ROUNDS + 1);
  expect(history.map(({ count }) => count)).toEqual(history.map((_, index) => index + 1));
  console.log(
    `${ROUNDS} stops: ${history.length} writes in ${terms.length} terms, ${conflicts()} stale writes refused`,
  );
}, 180_000);
