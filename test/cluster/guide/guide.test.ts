/** Every command of docs/guide, on one cluster, page after page in the order of its index. */
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { buildCli } from "../../../src/cli/build.ts";
import { eventually } from "../../support/eventually.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { type CommandResult, outputOf, runCommand } from "../command.ts";
import { installKubevirt } from "../kubevirt/install.ts";
import { type Block, blocksOf, isAsShown, pagesIn, shownIn } from "./page.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const GUIDE = join(ROOT, "docs", "guide");
const NODES = ["node-a", "node-b", "node-c"];
/** Languages of blocks that are run. Others are files. */
const RUN = ["sh", "console"];
const PAGES = pagesIn(await readFile(join(GUIDE, "README.md"), "utf8"));

describe("the guide", { timeout: 300_000 }, () => {
  const stack = new AsyncDisposableStack();
  let cluster: Cluster;
  let folder: string;
  const kubeconfigs = new Map<string, string>();

  beforeAll(async () => {
    cluster = stack.use(await startCluster({ nodes: NODES.map((name) => ({ name })) }));
    folder = await mkdtemp(join(tmpdir(), "guide-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, "dist", "release"), { recursive: true });
    await symlink(join(ROOT, "deploy", "release.yaml"), join(folder, "dist", "release", "release.yaml"));
    await mkdir(join(folder, "bin"));
    await symlink(cluster.kubectlPath, join(folder, "bin", "kubectl"));
    await symlink(await buildCli(), join(folder, "bin", "kubectl-macpool"));
    stack.use(await installKubevirt(cluster.kubeconfig));
    kubeconfigs.set("administrator", cluster.kubeconfig);
  }, 300_000);
  afterAll(() => stack.disposeAsync());

  /** `as-NAMESPACE/NAME` is a service account that the page has made. */
  async function kubeconfigOf(who: string): Promise<string> {
    const known = kubeconfigs.get(who);
    if (known !== undefined) return known;
    const [namespace = "", name = ""] = who.replace("as-", "").split("/");
    const token = (await cluster.mustKubectl(["-n", namespace, "create", "token", name])).trim();
    const file = join(folder, `${name}.kubeconfig`);
    await copyFile(cluster.kubeconfig, file);
    const config = ["config", "--kubeconfig", file];
    await cluster.mustKubectl([...config, "set-credentials", name, `--token=${token}`]);
    await cluster.mustKubectl([...config, "set-context", "--current", `--user=${name}`]);
    kubeconfigs.set(who, file);
    return file;
  }

  async function run(who: string, script: string): Promise<CommandResult> {
    const argv = ["sh", "-e", "-c", script];
    if (NODES.includes(who)) return await cluster.exec(who, argv);
    const PATH = `${join(folder, "bin")}:${process.env.PATH}`;
    const env = { PATH, HOME: folder, TZ: "UTC", KUBECONFIG: await kubeconfigOf(who) };
    return await runCommand(argv, { cwd: folder, env });
  }

  async function follow({ language, who, text }: Block): Promise<void> {
    if (!RUN.includes(language) || who === "elsewhere") return;
    if (language === "sh") {
      outputOf(text, await run(who, text));
      return;
    }
    for (const { command, output } of shownIn(text)) {
      let printed = "";
      const isShown = async (): Promise<boolean> => {
        const { stdout, stderr } = await run(who, command);
        printed = `${stdout}${stderr}`;
        return isAsShown(output, printed);
      };
      const state = () => `\n${printed}`;
      await eventually(`${command} to print\n${output}\n`, isShown, { limitMs: 60_000, state });
    }
  }

  it.each(PAGES)("works as %s says", async (page) => {
    for (const block of blocksOf(await readFile(join(GUIDE, page), "utf8"))) await follow(block);
  });
});
