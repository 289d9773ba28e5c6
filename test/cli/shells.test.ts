import { execFile, execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SCRIPTS } from "../../src/cli/commands/completion.ts";
import { lacks } from "../tools/debian/programs.ts";

const ROOT = join(import.meta.dirname, "../..");
const TIMEOUT_MS = 30_000;
const ARN = "arn:aws:eks:eu-west-1:1:cluster/one";

describe("the completion scripts", () => {
  const folder = mkdtempSync(join(tmpdir(), "macpool-completion-"));

  beforeAll(() => {
    const program = join(folder, "kubectl-macpool");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${ROOT}/src/cli/main.ts" "$@"\n`);
    chmodSync(program, 0o755);
    for (const [shell, script] of Object.entries(SCRIPTS)) writeFileSync(join(folder, shell), script);
    chmodSync(join(folder, "kubectl"), 0o755);
    // No settings of the machine; the modules may lie elsewhere than zsh expects them.
    writeFileSync(join(folder, ".zshenv"), "unsetopt globalrcs; [[ -z $ZSH_MODULES ]] || module_path=($ZSH_MODULES)\n");
    const context = { name: ARN, context: { cluster: "none", user: "none" } };
    writeFileSync(join(folder, "config"), JSON.stringify({ clusters: [], users: [], contexts: [context] }));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const env = {
    ...process.env,
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    HOME: folder,
    KUBECONFIG: join(folder, "config"),
  };
  const run = async (shell: string, ...args: string[]): Promise<string> =>
    (await promisify(execFile)(shell, args, { env, encoding: "utf8", timeout: TIMEOUT_MS })).stdout;

  const inBash = async (line: string): Promise<string[]> => {
    const typed = `COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}`;
    const script = `. ${folder}/bash; ${typed}; _kubectl_macpool; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return (await run("bash", "-c", script)).trimEnd().split("\n");
  };

  it("complete in bash", async () => {
    expect(await inBash("kubectl-macpool do")).toEqual(["doctor"]);
    expect(await inBash("kubectl-macpool list -o y")).toEqual(["yaml"]);
    expect(await inBash("kubectl-macpool list -o ")).toEqual(["table", "wide", "json", "yaml", "name", "jsonpath="]);
    expect(await inBash(`kubectl-macpool list --kubeconfig ${folder}/ba`)).toEqual([join(folder, "bash")]);
  });

  it("complete names with colons in bash, which takes each part for a word", async () => {
    expect(await inBash("kubectl-macpool list --context ")).toEqual([ARN]);
    expect(await inBash("kubectl-macpool list --context arn:aws:e")).toEqual(["eks:eu-west-1:1:cluster/one"]);
  });

  it("answer kubectl, which asks a program of its own about a plugin", () => {
    const said = execFileSync(join(folder, "kubectl"), ["map", "--fr"], { env, encoding: "utf8" });
    expect(said).toBe("--from\tfirst address\n:4\n");
  });

  /** What zsh hands to the program when the line is typed with a tab at its end, and then entered. */
  const inZsh = async (line: string): Promise<string> => {
    const ready = [
      "PS1='' PS2=''",
      "unsetopt prompt_cr prompt_sp",
      `autoload -Uz compinit && compinit -u -d ${folder}/dump`,
      `source ${folder}/zsh`,
      'kubectl-macpool() { if [[ "$1" == __complete ]]; then command kubectl-macpool "$@"; else print -r -- "<$*>"; fi }',
      "print READ''Y",
    ];
    const script = [
      "zmodload zsh/zpty",
      "zpty typed zsh -i",
      `zpty -w typed ${quoted(ready.join("; "))}`,
      "zpty -r typed told '*READY*'",
      `zpty -w -n typed ${quoted(line)}$'\\t\\n'`,
      "zpty -r typed told '*<*>*'",
      'print -r -- "$told"',
      "zpty -d typed",
    ];
    const told = await run("zsh", "-c", script.join("\n"));
    return /<(.*)>/.exec(told)?.[1] ?? told;
  };

  it.skipIf(lacks("zsh"))("complete in zsh", async () => {
    expect(await inZsh("kubectl-macpool doct")).toBe("doctor");
    expect(await inZsh("kubectl-macpool list -o ya")).toBe("list -o yaml");
    expect(await inZsh("kubectl-macpool list --context ar")).toBe(`list --context ${ARN}`);
    expect(await inZsh(`kubectl-macpool list --kubeconfig ${folder}/ba`)).toBe(`list --kubeconfig ${folder}/bash`);
  });

  it.skipIf(lacks("fish"))("complete in fish", async () => {
    const inFish = async (line: string): Promise<string[]> => {
      const script = `source ${folder}/fish; complete -C ${quoted(line)}`;
      return (await run("fish", "--no-config", "-c", script)).trimEnd().split("\n");
    };
    expect(await inFish("kubectl-macpool doc")).toEqual(["doctor\twhat is inconsistent, and what to do about each"]);
    expect(await inFish("kubectl-macpool list -o y")).toEqual(["yaml"]);
    expect(await inFish("kubectl-macpool list --context ar")).toEqual([ARN]);
    expect(await inFish(`kubectl-macpool list --kubeconfig ${folder}/ba`)).toEqual([join(folder, "bash")]);
    expect(await inFish(`kubectl-macpool lint -f ${folder}/ba`)).toEqual([join(folder, "bash")]);
    expect((await inFish("kubectl-macpool list --kub")).map((each) => each.split("\t")[0])).toEqual(["--kubeconfig"]);
  });
});

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
