import { assertThat } from "../assert.ts";
import type { DemoCluster } from "../demo-cluster.ts";
import { macOf } from "../guest.ts";
import type { Step } from "../scenario.ts";

export const inspection: Step<DemoCluster> = {
  name: "inspection",
  limitMs: 30_000,
  async run(demo, values) {
    const macs = { web: await macOf(demo, "web"), "web-2": await macOf(demo, "web-2") };
    const list = await succeeding(demo, ["list"]);
    values.list = list.split("\n");
    for (const [vm, mac] of Object.entries(macs)) {
      const row = list.split("\n").find((line) => line.includes(mac));
      assertThat(row?.includes(vm) === true, `kubectl macpool list does not say that ${vm} has ${mac}:\n${list}`);
    }
    const asked = macs.web.replaceAll(":", "-").toUpperCase();
    const found = await succeeding(demo, ["find", asked]);
    values.find = found.split("\n");
    assertThat(found.includes(macs.web) && found.includes("web"), `kubectl macpool find ${asked} says:\n${found}`);
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

export async function succeeding(demo: DemoCluster, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await demo.macpool(args);
  assertThat(code === 0, `kubectl macpool ${args.join(" ")}: ${stderr.trim() || stdout.trim() || `exit code ${code}`}`);
  return stdout.trimEnd();
}
