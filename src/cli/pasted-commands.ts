import type { Options } from "./command-line.ts";

/** Commands that are told as a remedy, so that they ask the cluster that this one asked, with the same rights. */

const FLAGS: readonly (readonly [keyof Options, string])[] = [
  ["kubeconfig", "kubeconfig"],
  ["context", "context"],
  ["cluster", "cluster"],
  ["user", "user"],
  ["server", "server"],
  ["insecureSkipTlsVerify", "insecure-skip-tls-verify"],
  ["as", "as"],
  ["asGroups", "as-group"],
];

/** A token is not repeated: texts are kept and sent on. */
const TOKEN = "--token TOKEN";

const OWN_COMMAND = /\bkubectl macpool [a-z][a-z-]*/g;
/** Of kubectl and virtctl, before their command: not in `kubectl macpool`, nor where kubectl is only named. */
const OTHER_COMMAND =
  /\b(?:kubectl|virtctl)(?= (?:-n \S+ )?(?:create|debug|delete|describe|edit|get|label|logs|patch|restart|scale|set|version|wait)\b)/g;

/** The text with the options of this command line in each command that it tells. */
export function pastable(text: string, options: Options): string {
  const flags = FLAGS.flatMap(([key, name]) => [options[key]].flat().flatMap((value) => flag(name, value)));
  const common = [...flags, ...(options.token === undefined ? [] : [TOKEN])];
  const own = [...common, ...flag("pool-namespace", options.poolNamespace)];
  return text
    .replace(OWN_COMMAND, (command) => [command, ...own].join(" "))
    .replace(OTHER_COMMAND, (command) => [command, ...common].join(" "));
}

function flag(name: string, value: unknown): string[] {
  if (value === true) return [`--${name}`];
  return typeof value === "string" ? [`--${name}${value.startsWith("-") ? "=" : " "}${quoted(value)}`] : [];
}

/** For a shell. */
const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
