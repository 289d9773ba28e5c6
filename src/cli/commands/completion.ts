import type { CommandSpec } from "../command.ts";
import { oneArgument, UsageError } from "../command-line.ts";
import { SCRIPTS } from "../completion-scripts.ts";

const SHELLS = Object.keys(SCRIPTS);

export const completion: CommandSpec = {
  name: "completion",
  args: "SHELL",
  summary: `completion script for ${SHELLS.join(", ")}`,
  details: [
    "bash: source <(kubectl macpool completion bash)",
    "zsh: source <(kubectl macpool completion zsh)",
    "fish: kubectl macpool completion fish | source",
    "kubectl: write the output to an executable kubectl_complete-macpool in PATH, and kubectl completes this plugin too.",
  ],
  words: SHELLS,
  run: async ({ line }) => {
    const shell = oneArgument(line, SHELLS.join(", "));
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (script === undefined)
      throw new UsageError(`no script for ${JSON.stringify(shell)}: use one of ${SHELLS.join(", ")}`);
    return { stdout: script, exitCode: 0 };
  },
};
