import { macOf } from "../guest.ts";
import { must } from "../must.ts";
import { NAD_NAME, NAMESPACE } from "../objects.ts";
import { kubectl, type Stage } from "../stage.ts";
import type { Step } from "../story.ts";

export const inspection: Step<Stage> = {
  name: "inspection",
  limitMs: 30_000,
  async run(stage, values) {
    const macs = { web: await macOf(stage, "web"), "web-2": await macOf(stage, "web-2") };
    const list = await succeeding(stage, ["list"]);
    values.list = list.split("\n");
    for (const [vm, mac] of Object.entries(macs)) {
      const row = list.split("\n").find((line) => line.includes(mac));
      must(row?.includes(vm) === true, `kubectl macpool list does not say that ${vm} has ${mac}:\n${list}`);
    }
    const asked = macs.web.replaceAll(":", "-").toUpperCase();
    const found = await succeeding(stage, ["find", asked]);
    values.find = found.split("\n");
    must(found.includes(macs.web) && found.includes("web"), `kubectl macpool find ${asked} says:\n${found}`);
    const networks = await asReader(stage, (token) => succeeding(stage, ["networks", "--token", token]));
    values.networks = networks.split("\n");
    const network = networks.split("\n").find((line) => line.includes(`${NAMESPACE}/${NAD_NAME}`));
    must(network !== undefined, `kubectl macpool networks does not show ${NAD_NAME}:\n${networks}`);
    const told: readonly (readonly [string, string])[] = [
      ["list", list],
      [`find ${asked}`, found],
      ["networks", networks],
    ];
    return {
      text: "who has what, and where",
      output: told.flatMap(([command, text]) => [`$ kubectl macpool ${command}`, ...text.split("\n")]),
    };
  },
};

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

async function succeeding(stage: Stage, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await stage.macpool(args);
  must(code === 0, `kubectl macpool ${args.join(" ")}: ${stderr.trim() || stdout.trim() || `exit code ${code}`}`);
  return stdout.trimEnd();
}
