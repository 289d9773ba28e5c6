import { eventually } from "../../../support/eventually.ts";
import { DESCRIBED_NODE, layOut, SHOP, STRAY, TENANTS } from "../layout.ts";
import { must } from "../must.ts";
import { NAD_NAME, NAMESPACE, NODE_A } from "../objects.ts";
import { kubectl, type Stage } from "../stage.ts";
import type { Step } from "../story.ts";
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

export const networks: Step<Stage> = {
  name: "networks",
  limitMs: 60_000,
  async run(stage, values, signal) {
    stage.note("bridges and networks of three tenants");
    await layOut(stage);
    return asReader(stage, async (token) => {
      const shown = await whenSettled(stage, token, signal);
      const verdictOf = (name: string, node: string) =>
        networkIn(shown, name)?.cells.find((cell) => cell.node === node)?.verdict;
      values.verdicts = Object.fromEntries(
        shown.networks.map(({ namespace, name, cells }) => [
          `${namespace}/${name}`,
          cells.map(({ verdict }) => verdict),
        ]),
      );
      must(verdictOf(SHARED, DESCRIBED_NODE) === "NoBridge", `${DESCRIBED_NODE} has no br1`);
      must(verdictOf("tenant-lab/wrong", NODE_A) === "Fails", "a VM would start on tenant-lab/wrong");
      const table = await succeeding(stage, ["networks", "--token", token]);
      values.networks = table.split("\n");
      const one = await succeeding(stage, ["network", SHARED, "--token", token]);
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
function whenSettled(stage: Stage, token: string, signal: AbortSignal): Promise<Shown> {
  let last = "";
  return eventually(
    `VM ${SHOP.name} to run and VM ${STRAY.name} to wait`,
    async () => {
      last = await succeeding(stage, ["networks", "-o", "json", "--token", token]);
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
async function asReader<T>(stage: Stage, ask: (token: string) => Promise<T>): Promise<T> {
  const [account, at] = [`serviceaccount/${READER}`, ["--namespace", NAMESPACE]];
  await kubectl(stage, ["create", "serviceaccount", READER, ...at]);
  const subject = `--serviceaccount=${NAMESPACE}:${READER}`;
  await kubectl(stage, ["create", "clusterrolebinding", READER, "--clusterrole=kubemacpool-view", subject]);
  const token = (await kubectl(stage, ["create", "token", READER, ...at])).trim();
  const answer = await ask(token);
  await kubectl(stage, ["delete", `clusterrolebinding/${READER}`]);
  await kubectl(stage, ["delete", account, ...at]);
  return answer;
}
