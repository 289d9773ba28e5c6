import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandResult, runCommand } from "../cluster/command.ts";
import { claims, pools } from "./support/answers.ts";
import { CliProcess } from "./support/cli-process.ts";
import { consistency } from "./support/diagnosis-answers.ts";
import { kubeconfigOf, ScriptedCluster } from "./support/scripted-cluster.ts";
import { listedEvents } from "./support/watch-events.ts";

/** More than a pipe keeps. */
const MANY = 5_000;

const list = (items: readonly object[]) => ({ body: { items, total: items.length } });

describe("the executable in a pipe", () => {
  let cluster: ScriptedCluster;
  let cli: CliProcess;

  beforeAll(async () => {
    const many = Array.from({ length: MANY }, (_, index) => {
      const mac = `02:5d:1c:00:${(index >> 8).toString(16).padStart(2, "0")}:${(index & 255).toString(16).padStart(2, "0")}`;
      return { ...claims[1], name: `mac-${mac.replaceAll(":", "-")}`, mac };
    });
    cluster = await ScriptedCluster.start({
      rest: (path, query) => {
        if (path === "pools") return list(pools);
        if (path === "consistency") return { body: consistency };
        if (!query.has("watch")) return list(many);
        return { body: listedEvents(many), type: "text/event-stream" };
      },
    });
    cli = await CliProcess.build();
    cli.kubeconfig = await cli.write("kubeconfig", kubeconfigOf(cluster.parts("one")));
    await writeFile(
      join(cli.folder, "count.js"),
      `let text = ""; process.stdin.on("data", (part) => { text += part; });
      process.stdin.on("end", () => console.log(JSON.parse(text).items.length));\n`,
    );
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await cli?.[Symbol.asyncDispose]();
  });

  /** The last line is the exit code of the pipe's first command. */
  const inBash = (pipe: string): Promise<CommandResult> =>
    runCommand(["bash", "-c", `${pipe}\nprintf '%s\\n' "\${PIPESTATUS[0]}"`], { env: cli.env });

  it("reaches a program whole", async () => {
    const { stdout, stderr } = await inBash(
      `kubectl-macpool list -A -o json | '${process.execPath}' '${cli.folder}/count.js'`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: `${MANY}\n0\n`, stderr: "" });
  });

  it.each([
    ["list -A", /^MAC {17}NAMESPACE .*\n0\n$/],
    ["list -A -o json", /^\{\n0\n$/],
    ["watch -A -o name", /^macclaim\..*\/mac-02-5d-1c-00-00-00\n0\n$/],
    ["status", /^POOL .*\n1\n$/],
  ])("ends quietly when the reader of %s has had enough", async (command, told) => {
    const { stdout, stderr } = await inBash(`kubectl-macpool ${command} | head -n 1`);
    expect(stderr).toBe("");
    expect(stdout).toMatch(told);
  });

  it("knows a terminal from a pipe", async () => {
    const typed = `script -qec 'stty cols 60; kubectl-macpool list -A --no-headers' /dev/null < /dev/null | head -n 1`;
    const ended = await runCommand(["bash", "-c", typed], { env: { ...cli.env, LANG: "C.UTF-8", TERM: "xterm" } });
    expect(ended.stdout.trimEnd().length).toBeLessThanOrEqual(60);
    expect((await inBash("kubectl-macpool list -A --no-headers | head -n 1")).stdout.length).toBeGreaterThan(60);
    const coloured = await runCommand(["script", "-qec", "kubectl-macpool status default", "/dev/null"], {
      env: {
        ...cli.env,
        TERM: "xterm",
      },
    });
    expect(coloured.stdout).toContain("\u001b[1mdefault\u001b[0m");
    const plain = await runCommand(["script", "-qec", "kubectl-macpool status default", "/dev/null"], {
      env: {
        ...cli.env,
        TERM: "xterm",
        NO_COLOR: "1",
      },
    });
    expect(plain.stdout).toContain("MACPool default");
    expect(plain.stdout).not.toContain("\u001b");
  });
});
