import type { CommandSpec } from "../command.ts";
import { oneArgument, UsageError } from "../command-line.ts";

/**
 * Completion scripts by shell. Each asks `kubectl-macpool __complete` (completion.ts) for the words. `kubectl` is the
 * executable that kubectl asks about a plugin's command line.
 */

/** bash takes a colon for the end of a word, as in names of contexts: the line is split and the answer trimmed here. */
const BASH = `_kubectl_macpool() {
    local text="\${COMP_LINE:0:COMP_POINT}" typed=() line directive="" words=()
    read -r -a typed <<< "$text"
    [[ "$text" == *" " ]] && typed+=("")
    local current="\${typed[\${#typed[@]}-1]}"
    while IFS= read -r line; do
        case "$line" in
            :*) directive="\${line#:}" ;;
            *) words+=("\${line%%$'\\t'*}") ;;
        esac
    done < <(kubectl-macpool __complete "\${typed[@]:1}" 2>/dev/null)
    COMPREPLY=("\${words[@]#"\${current%"\${current##*:}"}"}")
    if [ "$directive" = 6 ]; then
        compopt -o nospace 2>/dev/null
    fi
    if [ "$directive" = 0 ] && [ \${#words[@]} -eq 0 ]; then
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -F _kubectl_macpool kubectl-macpool
`;

const ZSH = `#compdef kubectl-macpool
_kubectl_macpool() {
    local line directive="" words_found=()
    while IFS= read -r line; do
        case "$line" in
            :*) directive="\${line#:}" ;;
            *$'\\t'*) words_found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
            *) words_found+=("\${line//:/\\\\:}") ;;
        esac
    done < <(kubectl-macpool __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( \${#words_found} )); then
        _describe 'kubectl macpool' words_found
    elif [[ "$directive" == 0 ]]; then
        _files
    fi
}
compdef _kubectl_macpool kubectl-macpool
`;

const FISH = `function __kubectl_macpool_complete
    set -l words (commandline -opc) (commandline -ct)
    kubectl-macpool __complete $words[2..-1] 2>/dev/null | string match -v -r '^:'
end
complete -c kubectl-macpool -f -a '(__kubectl_macpool_complete)'
complete -c kubectl-macpool -l kubeconfig -r -F
complete -c kubectl-macpool -n '__fish_seen_subcommand_from check lint' -s f -l filename -r -F
`;

const KUBECTL = `#!/bin/sh
exec kubectl-macpool __complete "$@"
`;

export const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH, kubectl: KUBECTL };

const SHELLS = Object.keys(SCRIPTS);

export const completion: CommandSpec = {
  name: "completion",
  args: "SHELL",
  summary: `completion script for ${SHELLS.join(", ")}`,
  details: [
    "The scripts complete kubectl-macpool. That of kubectl is for an executable kubectl_complete-macpool in PATH: kubectl completes " +
      "this plugin too then.",
  ],
  examples: [
    "source <(kubectl macpool completion bash)",
    "source <(kubectl macpool completion zsh)",
    "kubectl macpool completion fish | source",
    "kubectl macpool completion kubectl > ~/.local/bin/kubectl_complete-macpool",
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
