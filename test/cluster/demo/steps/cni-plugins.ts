import { assertThat } from "../assert.ts";
import { type DemoCluster, onNode } from "../demo-cluster.ts";
import { NODE_A, NODE_B } from "../objects.ts";
import type { Step } from "../scenario.ts";
import { KEPT } from "../text-format.ts";

export const CNI_DIRECTORY = "/opt/cni/bin";
const PLUGIN = "cnv-bridge";

/** Answers the CNI verb VERSION: the executable runs on the node, without anything else of ours there. */
const ASK_VERSIONS = `echo '{"cniVersion":"1.0.0"}' | env -i CNI_COMMAND=VERSION ${CNI_DIRECTORY}/${PLUGIN}`;
/** Without CNI_COMMAND a plugin says what it is, on stderr. */
const ASK_ABOUT = `env -i ${CNI_DIRECTORY}/${PLUGIN} 2>&1 </dev/null`;

export const cniPlugins: Step<DemoCluster> = {
  name: "cni-plugins",
  limitMs: 30_000,
  async run(demo, values) {
    const sums: string[] = [];
    const details: string[] = [];
    for (const node of [NODE_A, NODE_B]) {
      const files = await checksums(demo, node);
      assertThat(files.has(PLUGIN), `${node} has no ${CNI_DIRECTORY}/${PLUGIN}, only: ${[...files.keys()].join(", ")}`);
      values[node] = Object.fromEntries(files);
      sums.push(files.get(PLUGIN) ?? "");
      const list = [...files].map(([name, sum]) => `${name}${KEPT}${sum.slice(0, 12)}`);
      details.push(`${node}${KEPT}${CNI_DIRECTORY}  ${list.join("  ")}`);
    }
    assertThat(sums[0] === sums[1], `${PLUGIN} differs between the nodes: ${sums.join(" and ")}`);
    values.about = (await onNode(demo, NODE_B, ["sh", "-c", ASK_ABOUT])).split("\n")[0];
    const answer: unknown = JSON.parse(await onNode(demo, NODE_B, ["sh", "-c", ASK_VERSIONS]));
    values.supportedVersions = (answer as { supportedVersions?: string[] }).supportedVersions;
    assertThat(Array.isArray(values.supportedVersions), `${PLUGIN} does not answer VERSION: ${JSON.stringify(answer)}`);
    return {
      text: `${values.about}, CNI ${values.supportedVersions.at(0)}-${values.supportedVersions.at(-1)}`,
      details,
    };
  },
};

/** Name -> sha256 of every executable in the node's CNI directory. */
export async function checksums(demo: DemoCluster, node: string): Promise<Map<string, string>> {
  const listing = await onNode(demo, node, [
    "sh",
    "-c",
    `cd ${CNI_DIRECTORY} 2>/dev/null && find . -maxdepth 1 -type f -perm -100 -exec sha256sum {} + || true`,
  ]);
  const files = listing
    .split("\n")
    .map((line) => /^([0-9a-f]{64}) [ *]\.\/(.+)$/.exec(line))
    .flatMap((match): [string, string][] => (match === null ? [] : [[match[2] ?? "", match[1] ?? ""]]));
  return new Map(files.sort(([left], [right]) => left.localeCompare(right)));
}

/** Every file under a folder of the node, also hidden ones; none when there is no such folder. */
export async function filesIn(demo: DemoCluster, node: string, folder: string): Promise<string[]> {
  const script = `[ ! -d ${folder} ] || find ${folder} ! -type d`;
  return (await onNode(demo, node, ["sh", "-c", script])).split("\n").filter((line) => line !== "");
}
