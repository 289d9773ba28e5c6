import { macOf } from "../guest.ts";
import { must } from "../must.ts";
import type { Stage } from "../stage.ts";
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
    const told: readonly (readonly [string, string])[] = [
      ["list", list],
      [`find ${asked}`, found],
    ];
    return {
      text: "who has what, and where",
      output: told.flatMap(([command, text]) => [`$ kubectl macpool ${command}`, ...text.split("\n")]),
    };
  },
};

export async function succeeding(stage: Stage, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await stage.macpool(args);
  must(code === 0, `kubectl macpool ${args.join(" ")}: ${stderr.trim() || stdout.trim() || `exit code ${code}`}`);
  return stdout.trimEnd();
}
