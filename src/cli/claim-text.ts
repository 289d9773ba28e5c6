import { describeHostConflict, HOST_CONFLICT_ADVICE } from "../api/host-interfaces.ts";
import { describeUnusable, formatMac, type Mac } from "../api/mac.ts";
import { saidByPod } from "../api/said-by-pods.ts";
import type { OwnerView } from "../mac-pool/inspection/rest/views.ts";
import type { KnownClaim, KnownOwner, ListedClaim, UnclaimedAddress } from "./backends/pool-backend.ts";
import type { CommandInput } from "./command.ts";
import { localTime, shortAge, spanInWords } from "./quantities.ts";
import { type Column, formatFields, formatTable, tableOptions } from "./table.ts";
import { painted, type Terminal, wrapped } from "./terminal.ts";

/** Claims in words, and as a table. */

type ObjectName = Pick<OwnerView, "kind" | "namespace" | "name" | "generateName">;

/** `VirtualMachine default/web`. */
export function describeOwner(owner: ObjectName): string {
  return `${owner.kind} ${owner.namespace}/${ownerName(owner)}`;
}

/** kubectl's short names. */
const SHORT_KINDS = { VirtualMachine: "vm", VirtualMachineInstance: "vmi", Pod: "pod" } as const;

/** `vm`, as an argument of kubectl and of find and explain. */
export function shortKind(kind: OwnerView["kind"]): string {
  return SHORT_KINDS[kind];
}

/** `2 objects in namespaces that you may not see`; nothing for none. */
export function hiddenText(elsewhere: number): readonly string[] {
  if (elsewhere === 0) return [];
  return [`${elsewhere} object${elsewhere === 1 ? "" : "s"} in namespaces that you may not see`];
}

/** The name, or `web-*` where only the prefix is known. */
export function ownerName({ name, generateName }: Pick<OwnerView, "name" | "generateName">): string {
  return name ?? `${generateName ?? ""}*`;
}

const VERBS = { Pending: "is reserved for", Bound: "is held by", Allocated: "is allocated to" } as const;

export function describeClaim(claim: KnownClaim, terminal: Terminal, nowMs: number): string {
  const { mac, owners, elsewhere } = claim;
  if (claim.phase === "Quarantined") {
    const until = Date.parse(claim.until ?? "");
    const text = `${mac} is in quarantine until ${localTime(until)}, for ${spanInWords(until - nowMs)} more. It has no owner.`;
    const said = besideText(mac, claim, terminal);
    return (
      wrapped(terminal, text, 0) +
      formatFields([["origin", originText(claim)]], terminal) +
      said +
      hostText(claim, terminal, "")
    );
  }
  const verb = VERBS[claim.phase];
  const held = [...owners.map(describeOwner), ...hiddenText(elsewhere)].join(" and ") || "no owner";
  const details = owners.map((owner) => formatFields(ownerFields(claim, owner, nowMs), terminal));
  const conflict = hostText(claim, terminal, HOST_CONFLICT_ADVICE);
  const said = besideText(mac, claim, terminal);
  return wrapped(terminal, `${mac} ${verb} ${held}`, 0) + [...details, said, conflict].filter(Boolean).join("\n");
}

export const UNMANAGED = "the MAC pool does not manage it";

/** What has the address beside its owners. */
export type Beside = Pick<KnownClaim, "sayingPods" | "unmanagedInstances">;

/** Of what has the address beside its owners; nothing for none. */
export function besideText(
  mac: string,
  { sayingPods = [], unmanagedInstances = [] }: Beside,
  terminal: Terminal,
): string {
  return besideTexts([{ mac, sayingPods, unmanagedInstances }], terminal);
}

/** Of several addresses. A reason that is that of several stands once, behind them. */
export function besideTexts(addresses: readonly (Beside & { readonly mac: string })[], terminal: Terminal): string {
  const found = addresses.flatMap(({ mac, sayingPods = [], unmanagedInstances = [] }) =>
    [...unmanagedInstances, ...sayingPods].map((party) => ({
      what: `${describeOwner(party)}${party.node === undefined ? "" : ` on ${party.node}`} has ${mac} too`,
      why: party.saidBy === undefined ? UNMANAGED : saidByPod(party),
    })),
  );
  const texts = [...Map.groupBy(found, ({ why }) => why)].flatMap(([why, parties]) =>
    parties.length === 1
      ? parties.map(({ what }) => `${what}: ${why}.`)
      : [...parties.map(({ what }) => `${what}.`), `Of each of these ${parties.length}: ${why}.`],
  );
  return texts.map((text) => wrapped(terminal, text, 0)).join("");
}

/** What of a node has the address too, and what that means; nothing where no node has it. */
export function hostText(
  { mac, hostAddress }: Pick<KnownClaim, "mac" | "hostAddress">,
  terminal: Terminal,
  advice: string,
): string {
  if (hostAddress === undefined) return "";
  if (hostAddress === null) {
    return wrapped(terminal, `Whether a node has ${mac} is not known: you may not read NodeMACs.`, 0);
  }
  return painted(terminal, "red", wrapped(terminal, `${describeHostConflict(mac, hostAddress)} ${advice}`.trim(), 0));
}

/** Who has an address that has no claim or lists it, and whether it is a pool's. */
export function describeUnclaimed(mac: Mac, address: UnclaimedAddress): string {
  const { listedBy = [] } = address;
  const lists = listedBy.map((owner) => ` ${describeOwner(owner)} lists it, and the MAC pool did not give it.`);
  return [describeHolders(mac, address), ...lists].join("");
}

function describeHolders(mac: Mac, address: UnclaimedAddress): string {
  const { pool, inRange, holders, elsewhere, hosts, knowsHosts } = address;
  const owners = [...holders.map(describeOwner), ...hiddenText(elsewhere)].join(" and ");
  const said = [
    ...(owners === "" ? [] : [`is held by ${owners}`]),
    ...(hosts === undefined ? [] : [`is the address of ${hosts}`]),
  ];
  const place = inRange ? (pool === undefined ? "in the range of a pool" : `in pool ${pool}`) : "not in any pool";
  if (said.length > 0) return `${formatMac(mac)} ${said.join(", and ")}. It is ${place}.`;
  const unusable = describeUnusable(mac);
  if (unusable !== undefined) return `${unusable}. It is ${place}.`;
  if (knowsHosts) return `${formatMac(mac)} is free. It is ${place}.`;
  return `No VM, VMI or pod has ${formatMac(mac)}. It is ${place}. You may not read NodeMACs, which say whether a node has it.`;
}

function ownerFields(claim: KnownClaim, owner: KnownOwner, nowMs: number): [string, string][] {
  const sinceMs = Date.parse(owner.since);
  const several: [string, string][] = claim.owners.length > 1 ? [["owner", describeOwner(owner)]] : [];
  return [
    ...several,
    ["interface", owner.interface + networkText(owner)],
    ["origin", originText(claim, owner)],
    ["since", `${localTime(sinceMs)} (${spanInWords(nowMs - sinceMs)})`],
    ["running on", placeText(owner)],
  ];
}

function placeText({ node, pod, notRunningYet }: KnownOwner): string {
  if (node === undefined) return "no node";
  if (notRunningYet) return `no node yet: it is starting on ${node}, pod ${pod}`;
  return node === null ? "not known without the service" : `${node}, pod ${pod}`;
}

function networkText({ network, domains = [] }: KnownOwner): string {
  return network === undefined ? "" : ` (${[network, ...domains].join(", ")})`;
}

/** Of the owner, or of the claim. */
function originText(claim: KnownClaim, { origin = claim.origin }: Partial<KnownOwner> = {}): string {
  const { pool, range, rangePool, inRange, elsewhere } = claim;
  if (pool === undefined && elsewhere > 0) return origin;
  if (pool === undefined) return `${origin}, in no pool`;
  if (rangePool !== undefined) return `${origin}, of pool ${pool}, in a range of pool ${rangePool} (${range})`;
  if (inRange && range === undefined) return `${origin}, of pool ${pool}, in a range of another pool`;
  return `${origin}, ${origin === "automatic" ? "from" : "in"} pool ${pool} (${range ?? "outside its ranges"})`;
}

interface Row {
  readonly claim: ListedClaim;
  readonly owner: OwnerView | undefined;
}

/** Claims with one line for each owner; without the column of namespaces where one is given. */
export function formatClaims(
  claims: readonly ListedClaim[],
  namespace: string | undefined,
  { line, nowMs, terminal }: Pick<CommandInput, "line" | "nowMs" | "terminal">,
): string {
  const rows = claims.flatMap((claim): Row[] => {
    const owners = claim.owners.filter((owner) => namespace === undefined || owner.namespace === namespace);
    return owners.length === 0 ? [{ claim, owner: undefined }] : owners.map((owner) => ({ claim, owner }));
  });
  const namespaces: Column<Row>[] = [{ header: "NAMESPACE", cell: ({ owner }) => owner?.namespace ?? "", cut: true }];
  const more: Column<Row>[] = [
    { header: "NETWORK", cell: ({ owner }) => owner?.network ?? "" },
    { header: "ORIGIN", cell: ({ claim, owner }) => owner?.origin ?? claim.origin },
    { header: "NODE", cell: ({ owner }) => owner?.node ?? "" },
    { header: "UNTIL", cell: ({ claim }) => claim.until ?? claim.deadline ?? "" },
  ];
  const columns: Column<Row>[] = [
    { header: "MAC", cell: ({ claim }) => claim.mac },
    ...(namespace === undefined ? namespaces : []),
    {
      header: "OWNER",
      cell: ({ owner }) => (owner === undefined ? "" : `${shortKind(owner.kind)}/${ownerName(owner)}`),
      cut: true,
    },
    { header: "INTERFACE", cell: ({ owner }) => owner?.interface ?? "", drop: 2 },
    { header: "PHASE", cell: ({ claim }) => claim.phase, drop: 1 },
    { header: "POOL", cell: ({ claim }) => claim.pool ?? "", drop: 4 },
    {
      header: "AGE",
      cell: ({ claim, owner }) => shortAge(Date.parse(owner?.since ?? claim.created ?? ""), nowMs),
      drop: 3,
    },
    ...(line.options.output === "wide" ? more : []),
  ];
  return formatTable(columns, rows, tableOptions(line.options, terminal));
}
