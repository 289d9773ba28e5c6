import { networkNameFault, WRITE_NETWORK_NAME } from "../api/claim-network.ts";
import { NETWORKS_ANNOTATION } from "../api/names.ts";
import { parseNetworkSelection } from "../api/network-selection.ts";
import type { KubeObject } from "../kube/client/resource.ts";
import type { CheckSubject } from "./check-subject.ts";
import { checkSubject } from "./check-subject.ts";
import type { Verdict } from "./dry-run.ts";
import { DryRuns } from "./dry-runs.ts";
import type { ShownFinding } from "./findings-text.ts";
import { type Manifest, namespacesIn } from "./manifests.ts";
import { lintNetworks } from "./networks.ts";
import { poolsOfCluster } from "./networks-of-cluster.ts";
import type { OpenCluster } from "./open-cluster.ts";
import { sharedAddresses } from "./shared-addresses.ts";

/** What would be said of manifests if they were applied: by dry runs, and by the lint about networks. */

export interface CheckedObject {
  readonly source: string;
  readonly document: number;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly verdict: Verdict;
  /** Whether the cluster judged it, or nothing is left to judge. */
  readonly isChecked: boolean;
  readonly findings: readonly ShownFinding[];
}

export interface ManifestCheck {
  readonly items: readonly CheckedObject[];
  /** Objects of other kinds. */
  readonly ignored: number;
  /** Why the cluster could not be asked; undefined where it could, or nothing was to be asked. */
  readonly notAsked: string | undefined;
}

export interface ManifestCheckOptions {
  readonly open: () => Promise<OpenCluster>;
  readonly timeoutMs: number;
  /** Of objects that name none. */
  readonly defaultNamespace: string;
}

/** Dry runs at a time. */
const CONCURRENCY = 8;

export async function checkManifests(
  manifests: readonly Manifest[],
  { open, timeoutMs, defaultNamespace }: ManifestCheckOptions,
): Promise<ManifestCheck> {
  const objects = manifests.filter(({ object }) => object !== null);
  const subjects = objects.flatMap((manifest) => checkSubject(manifest, defaultNamespace) ?? []);
  const networks = subjects.flatMap(({ network }) => network ?? []);
  const offline = offlineFindings(subjects, lintNetworks(networks, await poolsOfCluster(open, timeoutMs, networks)));
  const dryRuns = new DryRuns(open, timeoutMs, comesWith(objects, subjects));
  const items: CheckedObject[] = [];
  for (let start = 0; start < subjects.length; start += CONCURRENCY) {
    const some = subjects.slice(start, start + CONCURRENCY);
    const answers = await Promise.all(some.map((subject) => dryRuns.ask(subject)));
    for (const [index, subject] of some.entries()) {
      const { verdict, findings } = answers[index] ?? { verdict: "unchecked" as const, findings: [] };
      const found = offline.get(subject) ?? [];
      const isRefused = found.some(({ code }) => REFUSED_ANYWHERE.includes(code));
      items.push({
        ...placeOf(subject),
        verdict: isRefused ? "refused" : verdict,
        isChecked: verdict !== "unchecked",
        findings: [...withoutRepeated(findings, found), ...found],
      });
    }
  }
  return { items, ignored: objects.length - subjects.length, notAsked: dryRuns.notAsked };
}

/** Of findings without a cluster, those that no cluster accepts. The lint's are refused where the cluster is set to. */
const REFUSED_ANYWHERE: readonly string[] = ["refused", "address-shared"];

const BEFORE_LINT = /^NetworkAttachmentDefinition \S+: /;
const BEHIND_LINT = /\d+ more: see kubectl macpool lint -f FILE\.$/;
const ENFORCED = "The cluster refuses it for the mistakes that are told below: its nadLint is Enforce.";

/** What the cluster says, without what the lint says here too. The cluster cuts what is long. */
function withoutRepeated(said: readonly ShownFinding[], found: readonly ShownFinding[]): ShownFinding[] {
  const told = found.map(({ message }) => message);
  return said.flatMap((finding) => {
    const text = finding.message.replace(BEFORE_LINT, "");
    if (text === finding.message) return finding;
    if (finding.severity !== "error") return told.some((message) => message.startsWith(text)) ? [] : finding;
    const others = told.reduce((rest, message) => rest.replace(message, ""), text.replace(BEHIND_LINT, ""));
    return others.trim() === "" ? { ...finding, message: ENFORCED } : finding;
  });
}

function placeOf({ manifest: { source, document }, kind, namespace, name }: CheckSubject) {
  return { source, document, kind, namespace, name };
}

/** What is known without a dry run; `linted`: what the lint finds in the networks, in their order. */
function offlineFindings(
  subjects: readonly CheckSubject[],
  linted: readonly (readonly ShownFinding[])[],
): Map<CheckSubject, ShownFinding[]> {
  const networks = subjects.flatMap(({ network }) => network ?? []);
  const isGuest = ({ plural, network }: CheckSubject): boolean => plural !== undefined && network === undefined;
  const lint = new Map(networks.map((network, index) => [network, linted[index] ?? []]));
  const shared = sharedAddresses(subjects.filter(isGuest));
  const warning = (code: string, message: string): ShownFinding => ({ severity: "warning", code, message });
  const error = (code: string, message: string): ShownFinding => ({ severity: "error", code, message });
  return new Map(
    subjects.map((subject) => [
      subject,
      [
        ...(subject.fault === undefined ? [] : [error("refused", subject.fault)]),
        ...(subject.network === undefined ? [] : (lint.get(subject.network) ?? [])),
        ...(isGuest(subject) ? wrongNetworkNames(subject.object, subject.kind) : []).map((message) =>
          error("network-name", message),
        ),
        ...(shared.get(subject) ?? []).map((message) => error("address-shared", message)),
        ...subject.manifest.misreadings.map(({ code, message }) => warning(code, message)),
      ],
    ]),
  );
}

/** What the files bring along, which a dry run does not find in the cluster. */
function comesWith(objects: readonly Manifest[], subjects: readonly CheckSubject[]) {
  const networks = subjects.flatMap(({ network }) =>
    network === undefined ? [] : `${network.namespace}/${network.name}`,
  );
  return { namespaces: namespacesIn(objects), networks };
}

interface Guest {
  readonly networks?: unknown;
}

interface Machine {
  readonly spec?: (Guest & { readonly template?: { readonly spec?: Guest | null } | null }) | null;
}

interface Network {
  readonly name?: unknown;
  readonly multus?: { readonly networkName?: unknown } | null;
}

/** What is wrong with the names of networks in a VM, a VMI or a pod: nothing that uses them starts, and not every server refuses them. */
function wrongNetworkNames(object: KubeObject, kind: string): string[] {
  if (kind === "Pod") {
    const annotation: unknown = object.metadata.annotations?.[NETWORKS_ANNOTATION];
    const selection = parseNetworkSelection(typeof annotation === "string" ? annotation : "");
    if (selection.form !== "malformed") return [];
    return [`annotation ${NETWORKS_ANNOTATION} can't be read: ${selection.reason}. The pod does not start.`];
  }
  const { spec } = object as Machine;
  const { networks } = spec?.template?.spec ?? spec ?? {};
  return (Array.isArray(networks) ? networks : []).flatMap((network: Network | null) => {
    const { name, multus } = network ?? {};
    const fault = multus === undefined || multus === null ? undefined : networkNameFault(multus.networkName);
    return fault === undefined ? [] : [`network ${JSON.stringify(name)}: ${fault}. ${WRITE_NETWORK_NAME}`];
  });
}
