import { eventually } from "../../../support/eventually.ts";
import { assertThat } from "../assert.ts";
import { type DemoCluster, kubectl } from "../demo-cluster.ts";
import { DESCRIBED_NODE, layOut, SHOP, STRAY, TENANTS } from "../layout.ts";
import { NAD_NAME, NAMESPACE, NODE_A } from "../objects.ts";
import type { Step } from "../scenario.ts";
import { succeeding } from "./inspection.ts";

/** web, web-2 and shop. */
const GUESTS = 3;
const SHARED = `${NAMESPACE}/${NAD_NAME}`;

interface Shown {
  readonly bridges: readonly { readonly name: string; readonly problems: readonly string[] }[];
  readonly networks: readonly ShownNetwork[];
}

interface ShownNetwork {
  readonly namespace: string;
  readonly name: string;
  readonly running: number;
  readonly waiting: readonly string[];
  readonly cells: readonly { readonly node: string; readonly running: number; readonly verdict: string }[];
  readonly findings: readonly { readonly code: string }[];
}

export const networks: Step<DemoCluster> = {
  name: "networks",
  limitMs: 60_000,
  async run(demo, values, signal) {
    demo.note("bridges and networks of three tenants");
    await layOut(demo);
    return asReader(demo, async (token) => {
      const shown = await whenSettled(demo, token, signal);
      const verdictOf = (name: string, node: string) =>
        networkIn(shown, name)?.cells.find((cell) => cell.node === node)?.verdict;
      values.verdicts = Object.fromEntries(
        shown.networks.map(({ namespace, name, cells }) => [
          `${namespace}/${name}`,
          cells.map(({ verdict }) => verdict),
        ]),
      );
      assertThat(verdictOf(SHARED, DESCRIBED_NODE) === "NoBridge", `${DESCRIBED_NODE} has no br1`);
      assertThat(verdictOf("tenant-lab/wrong", NODE_A) === "Fails", "a VM would start on tenant-lab/wrong");
      const table = await succeeding(demo, ["networks", "--token", token]);
      values.networks = table.split("\n");
      const one = await succeeding(demo, ["network", SHARED, "--token", token]);
      const { bridges } = shown;
      return {
        text: `${shown.networks.length} networks of ${TENANTS.length + 1} namespaces on ${bridges.length} bridges`,
        details: bridges
          .filter(({ problems }) => problems.length > 0)
          .map(({ name, problems }) => `${name}: ${problems.join(", ")}`),
        output: [`$ kubectl macpool network ${SHARED}`, ...one.split("\n")],
      };
    });
  },
};

/** When the one VM runs, and the other is known to wait. */
function whenSettled(demo: DemoCluster, token: string, signal: AbortSignal): Promise<Shown> {
  let last = "";
  return eventually(
    `VM ${SHOP.name} to run and VM ${STRAY.name} to wait`,
    async () => {
      last = await succeeding(demo, ["networks", "-o", "json", "--token", token]);
      const shown = JSON.parse(last) as Shown;
      const waiting = networkIn(shown, `${STRAY.namespace}/br9`)?.waiting ?? [];
      const isSettled = networkIn(shown, SHARED)?.running === GUESTS && waiting.length === 1;
      return isSettled ? shown : undefined;
    },
    { limitMs: 30_000, signal, state: () => last },
  );
}

const networkIn = ({ networks }: Shown, wanted: string): ShownNetwork | undefined =>
  networks.find(({ namespace, name }) => `${namespace}/${name}` === wanted);

const READER = "macpool-reader";

/**
 * Asks with the token of an account that may read the pool, which is gone afterwards: only the pool's service knows about
 * networks, and the API server's proxy passes on tokens, not the administrator's certificate.
 */
async function asReader<T>(demo: DemoCluster, ask: (token: string) => Promise<T>): Promise<T> {
  const [account, at] = [`serviceaccount/${READER}`, ["--namespace", NAMESPACE]];
  await kubectl(demo, ["create", "serviceaccount", READER, ...at]);
  const subject = `--serviceaccount=${NAMESPACE}:${READER}`;
  await kubectl(demo, ["create", "clusterrolebinding", READER, "--clusterrole=kubemacpool-view", subject]);
  const token = (await kubectl(demo, ["create", "token", READER, ...at])).trim();
  const answer = await ask(token);
  await kubectl(demo, ["delete", `clusterrolebinding/${READER}`]);
  await kubectl(demo, ["delete", account, ...at]);
  return answer;
}
