import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { SCRIPTS } from "../../src/cli/completion-scripts.ts";
import { completions } from "../../src/cli/completion-words.ts";
import { macpool } from "./support/macpool.ts";

const words = (...line: string[]): string[] =>
  completions(line, COMMANDS)
    .split("\n")
    .slice(0, -2)
    .map((each) => each.split("\t")[0] ?? "");

describe("completion", () => {
  it("offers commands, their arguments and options, and the values of options", () => {
    expect(words("")).toEqual([...COMMANDS.map(({ name }) => name), "version"]);
    expect(words("col")).toEqual(["collisions"]);
    expect(words("-n", "lab", "de")).toEqual(["denials"]);
    expect(words("completion", "")).toEqual(["bash", "zsh", "fish", "kubectl"]);
    expect(words("map", "--fr")).toEqual(["--from"]);
    expect(words("list", "--fr")).toEqual([]);
    expect(words("list", "-o", "")).toEqual(["table", "wide", "json", "yaml", "name"]);
    expect(words("list", "--output", "j")).toEqual(["json"]);
    expect(words("list", "-n", "")).toEqual([]);
  });

  it("asks the shell for names of files only where an option takes one", () => {
    expect(completions(["list", "--kubeconfig", ""], COMMANDS)).toBe(":0\n");
    expect(completions(["find", ""], COMMANDS)).toBe(":4\n");
  });

  it.each(Object.entries(SCRIPTS))("prints the script for %s", async (shell, script) => {
    expect(await macpool("/nowhere", ["completion", shell])).toEqual({ exitCode: 0, stdout: script, stderr: "" });
  });
});

describe("the scripts", () => {
  const folder = mkdtempSync(join(tmpdir(), "macpool-completion-"));
  const root = join(import.meta.dirname, "../..");

  beforeAll(() => {
    const program = join(folder, "kubectl-macpool");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${root}/src/cli/main.ts" "$@"\n`);
    chmodSync(program, 0o755);
    for (const [shell, script] of Object.entries(SCRIPTS)) writeFileSync(join(folder, shell), script);
    chmodSync(join(folder, "kubectl"), 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
  const inBash = (line: string): string[] => {
    const typed = `COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))`;
    const script = `. ${folder}/bash; ${typed}; _kubectl_macpool; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", script], { env, encoding: "utf8" }).trim().split("\n");
  };

  it("work in bash", () => {
    expect(inBash("kubectl-macpool do")).toEqual(["doctor"]);
    expect(inBash("kubectl-macpool list -o y")).toEqual(["yaml"]);
    expect(inBash(`kubectl-macpool list --kubeconfig ${folder}/ba`)).toEqual([join(folder, "bash")]);
  });

  it("answer kubectl, which asks a program of its own about a plugin", () => {
    const said = execFileSync(join(folder, "kubectl"), ["map", "--fr"], { env, encoding: "utf8" });
    expect(said).toBe("--from\tfirst address\n:4\n");
  });

  it.each(["bash", "zsh", "fish"].filter((shell) => spawnSync(shell, ["-c", "true"]).status === 0))(
    "are read by %s without an error",
    (shell) => {
      expect(execFileSync(shell, ["-n", join(folder, shell)], { encoding: "utf8" })).toBe("");
    },
  );
});
