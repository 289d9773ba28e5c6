import { parseMac } from "../../api/mac.ts";
import type { CheckView } from "../../mac-pool/inspection/rest/views.ts";
import { plain } from "../backends/plain-text.ts";
import { describeOwner, hiddenText } from "../claim-text.ts";
import type { CommandInput, CommandResult, CommandSpec } from "../command.ts";
import { type OptionSpec, oneArgument, textOptions, UsageError } from "../command-line.ts";
import { withoutKubeconfig } from "../faults.ts";
import { counted, describeFindings } from "../findings-text.ts";
import { type CheckedObject, checkManifests, type ManifestCheck } from "../manifest-check.ts";
import { readManifests } from "../manifests.ts";
import { formatFields } from "../table.ts";
import { painted, type Terminal, wrapped } from "../terminal.ts";
import { claimNameOf, formatViews } from "../views-text.ts";

const FILENAME: OptionSpec = {
  name: "filename",
  short: "f",
  value: "PATH",
  summary: "file, directory, or - for stdin; may be repeated",
  multiple: true,
};

/** A file has an object of a few KiB; etcd takes 1.5 MiB. */
const LIMITS = { bytes: 16 * 1024 * 1024, documents: 1000, documentBytes: 1024 * 1024 };

export const check: CommandSpec = {
  name: "check",
  args: "MAC|-f FILE",
  summary: "whether an address, or files, would be refused",
  details: [
    "MAC is an address in any notation, which the namespace would be given or not.",
    "With -f it says what would be refused if the files were applied, and why. The API server and its webhooks are asked about VMs, " +
      "their instances, pods and NetworkAttachmentDefinitions by a dry run with your rights, which stores nothing. The lint reads " +
      "NetworkAttachmentDefinitions too, also without a cluster. Other kinds are passed over.",
    "Ends with 1 where something would be refused or has mistakes, and with 2 where a file can't be read, or there is no object.",
  ],
  examples: [
    "kubectl macpool check 02:5d:1c:00:00:a3 -n lab",
    "kubectl macpool check -f vm.yaml -f networks.yaml",
    "helm template . | kubectl macpool check -f - -n lab -o json",
  ],
  options: [FILENAME],
  run: async (input) => {
    const { line, namespace: chosen } = input;
    const paths = textOptions(line, FILENAME.name);
    if (line.options.allNamespaces) throw new UsageError("check needs a namespace: write -n NAMESPACE in place of -A");
    if (paths.length === 0) return checkAddress(input);
    if (line.args.length > 0) throw new UsageError("check takes a MAC address or -f FILE, not both");
    const manifests = await readManifests(paths, process.stdin, LIMITS);
    if (manifests.every(({ object }) => object === null)) {
      throw new UsageError(`there is no object in ${paths.join(", ")}: write a manifest into it`);
    }
    const defaultNamespace = (await chosen().catch(withoutKubeconfig)) ?? "default";
    const options = { open: () => input.open(), timeoutMs: line.options.requestTimeoutMs, defaultNamespace };
    const { items, ignored, notAsked } = await checkManifests(manifests, options);
    const view = plain({ items, total: items.length, ignored });
    const isWrong = items.some((item) => item.verdict === "refused" || hasMistakes(item));
    return {
      stdout: formatViews(line, view) ?? describeChecked(view, input.terminal),
      ...(notAsked === undefined ? {} : { stderr: `note: objects were not checked by a dry run: ${plain(notAsked)}` }),
      exitCode: isWrong ? 1 : 0,
    };
  },
};

/** Code of a refusal in a namespace that does not exist. */
const NO_NAMESPACE = "MACPOOL_NO_NAMESPACE";

async function checkAddress({ line, namespace: chosen, ask, terminal }: CommandInput): Promise<CommandResult> {
  const text = oneArgument(line, "a MAC address, or -f FILE");
  const mac = parseMac(text);
  if (mac === undefined) throw new UsageError(`${JSON.stringify(text)} is not a MAC address: write six octets`);
  const namespace = (await chosen()) ?? "default";
  const view = await ask((backend) => backend.check(mac, namespace));
  const isMissing = view.code === NO_NAMESPACE;
  return {
    stdout: formatViews(line, view, [claimNameOf(view)]) ?? describe(view, terminal),
    exitCode: view.accepted ? 0 : isMissing ? 2 : 1,
    emptyIn: isMissing ? namespace : undefined,
  };
}

function describe(view: CheckView, terminal: Terminal): string {
  const { mac, namespace, accepted, code, message, pool, inRange, holders, elsewhere, listedBy = [] } = view;
  const verdict = accepted
    ? painted(terminal, "green", "would be accepted")
    : painted(terminal, "red", "would be refused");
  const fields: [string, string][] = [
    ["reason", code ?? ""],
    [
      "held by",
      [
        ...holders.map((holder) => `${describeOwner(holder)}, interface ${holder.interface}`),
        ...hiddenText(elsewhere),
      ].join("\n"),
    ],
    ["listed by", listedBy.map((owner) => `${describeOwner(owner)}, interface ${owner.interface}`).join("\n")],
    ["used by", view.hostAddress ?? ""],
    [
      "pool",
      pool === undefined
        ? "none serves the namespace"
        : `${pool}${inRange ? "" : ", the address is outside its ranges"}`,
    ],
  ];
  const known = fields.filter(([, value]) => value !== "");
  return `${mac} ${verdict} in namespace ${namespace}\n${wrapped(terminal, message, 2)}${formatFields(known, terminal)}`;
}

/** What does not work, and is not refused as far as is known. */
function hasMistakes({ verdict, findings }: CheckedObject): boolean {
  return verdict !== "refused" && findings.some(({ severity }) => severity === "error");
}

interface CheckedFiles extends Pick<ManifestCheck, "items" | "ignored"> {
  readonly total: number;
}

function describeChecked({ items, ignored, total }: CheckedFiles, terminal: Terminal): string {
  const texts = items
    .filter(({ findings }) => findings.length > 0)
    .map(({ source, document, kind, namespace, name, findings }) => {
      const object = `${kind || "object"} ${namespace}/${name || "(no name)"}`;
      return `${source}, document ${document}: ${object}\n${describeFindings(findings, terminal)}`;
    });
  const refusals = items.filter(({ verdict }) => verdict === "refused").length;
  const mistaken = items.filter(hasMistakes).length;
  const mistakes = mistaken === 0 ? "" : `, ${mistaken} ${mistaken === 1 ? "has" : "have"} mistakes`;
  const unchecked = items.filter(({ isChecked }) => !isChecked).length;
  const others = ignored === 0 ? "" : ` ${counted(ignored, "object")} of other kinds passed over.`;
  const verdicts = `${refusals} would be refused${mistakes}, ${unchecked} not checked`;
  return [...texts, wrapped(terminal, `${counted(total, "object")}: ${verdicts}.${others}`, 0)].join("\n");
}
