import { STATION } from "../../api/host-interfaces.ts";
import { type Mac, parseMac } from "../../api/mac.ts";
import type { OwnerKind } from "../../api/mac-claim.ts";
import { describeSeenElsewhere } from "../../api/seen-elsewhere.ts";
import type { CollisionView, StationView } from "../../mac-pool/inspection/rest/views.ts";
import { besideTexts, describeOwner, hiddenText, shortKind } from "../claim-text.ts";
import { compareRanges, type SharedAddress, sharedAddresses } from "../cluster-comparison.ts";
import type { CommandInput, CommandResult, CommandSpec } from "../command.ts";
import { noArguments, UsageError } from "../command-line.ts";
import { shortAge } from "../quantities.ts";
import { CONTEXTS_OPTION, contextsOf, statesOf } from "../several-clusters.ts";
import { type Column, formatTable, tableOptions } from "../table.ts";
import { wrapped } from "../terminal.ts";
import { claimNameOf, formatViews } from "../views-text.ts";

export const collisions: CommandSpec = {
  name: "collisions",
  summary: "addresses in use twice, also between clusters",
  details: [
    "With --contexts, an address that objects of two clusters have is a collision where both clusters " +
      "reach the same layer-2 network. Ends with 1 where there is any.",
  ],
  examples: ["kubectl macpool collisions -A", "kubectl macpool collisions --contexts east,west"],
  options: [CONTEXTS_OPTION],
  run: async (input) => {
    noArguments(input.line, "use kubectl macpool find");
    const contexts = contextsOf(input.line);
    if (contexts === undefined) return inCluster(input);
    if (contexts.length < 2) throw new UsageError("collisions --contexts compares two contexts or more: write a,b");
    return betweenClusters(contexts, input);
  },
};

interface Row<T> {
  readonly mac: string;
  readonly party: T;
}

/** Of an address: an object, or a station without a kind. */
type User = Omit<CollisionView["parties"][number], "kind"> & { readonly kind?: OwnerKind };

async function inCluster({ line, namespace: chosen, ask, terminal, nowMs }: CommandInput): Promise<CommandResult> {
  const namespace = await chosen();
  const list = await ask((backend) => backend.collisions(namespace));
  const exitCode = list.items.length > 0 ? 1 : 0;
  const formatted = formatViews(line, list, list.items.map(claimNameOf));
  const emptyIn = list.items.length === 0 ? namespace : undefined;
  if (formatted !== undefined) return { stdout: formatted, exitCode, emptyIn };
  if (list.items.length === 0) {
    const where = namespace === undefined ? "in the cluster" : `in namespace ${namespace}`;
    return { stdout: "", stderr: `No running object ${where} shares its address.`, exitCode, emptyIn };
  }
  const columns: Column<Row<User>>[] = [
    { header: "MAC", cell: ({ mac }) => mac },
    {
      header: "OWNER",
      cell: ({ party }) => ownerOf(party),
      cut: true,
    },
    { header: "INTERFACE", cell: ({ party }) => party.interface ?? "", drop: 2 },
    { header: "NETWORK", cell: ({ party }) => party.network ?? "", drop: 3 },
    { header: "NODE", cell: ({ party }) => party.node ?? "" },
    {
      header: "SINCE",
      cell: ({ party: { since } }) => (since === undefined ? "" : shortAge(Date.parse(since), nowMs)),
      drop: 1,
    },
  ];
  const rows = list.items.flatMap(({ mac, parties, stations = [] }) =>
    [...parties, ...stations.map(stationUser)].map((party: User) => ({ mac, party })),
  );
  const table = formatTable(columns, rows, tableOptions(line.options, terminal));
  const hidden = list.items
    .filter(({ elsewhere }) => elsewhere > 0)
    .map(({ mac, elsewhere }) => `${mac} is also used by ${hiddenText(elsewhere)}.\n`);
  const sightings = list.items.flatMap(({ mac, stations = [] }) =>
    stations.map(({ node, ...station }) =>
      wrapped(terminal, `${describeSeenElsewhere(parseMac(mac) as Mac, { node, station })}.`, 0),
    ),
  );
  const said = besideTexts(
    list.items.map(({ mac, parties }) => ({
      mac,
      sayingPods: parties.filter(({ saidBy }) => saidBy !== undefined),
      unmanagedInstances: parties.filter(({ saidBy, isManaged }) => saidBy === undefined && isManaged === false),
    })),
    terminal,
  );
  const advice = [...new Set(list.items.map((one) => one.advice))].map((text) => wrapped(terminal, text, 0));
  return { stdout: [table, "\n", ...sightings, said, ...hidden, ...advice].join(""), exitCode };
}

function ownerOf({ kind, namespace, name }: User): string {
  return kind === undefined ? name : `${shortKind(kind)}/${namespace}/${name}`;
}

/** A station has no interface and no network of ours: the table has its uplink, and its bridge with the VLAN. */
function stationUser({ node, bridge, uplink, vlan }: StationView): User {
  const network = vlan === undefined ? bridge : `${bridge} VLAN ${vlan}`;
  return { namespace: "", name: STATION, interface: uplink, network, node };
}

async function betweenClusters(contexts: readonly string[], input: CommandInput): Promise<CommandResult> {
  const { line, terminal } = input;
  const states = await statesOf(contexts, input);
  const items = sharedAddresses(states);
  const exitCode = items.length > 0 ? 1 : 0;
  const overlap =
    compareRanges(states).overlaps.length > 0
      ? `Ranges of these clusters overlap: see kubectl macpool ranges --contexts ${contexts.join(",")}`
      : "";
  const formatted = formatViews(line, { clusters: contexts, items, total: items.length }, items.map(claimNameOf));
  if (formatted !== undefined) return { stdout: formatted, exitCode };
  if (items.length === 0) {
    const none = `No address is in use in more than one of the ${contexts.length} clusters.`;
    return { stdout: "", stderr: overlap === "" ? none : `${none}\n${overlap}`, exitCode };
  }
  type InterfaceOwner = SharedAddress["holders"][number];
  const columns: Column<Row<InterfaceOwner>>[] = [
    { header: "MAC", cell: ({ mac }) => mac },
    { header: "CLUSTER", cell: ({ party }) => party.cluster },
    { header: "OWNER", cell: ({ party }) => party.owners.map(describeOwner).join(", "), cut: true },
    { header: "NETWORK", cell: ({ party }) => party.owners.map(({ network = "-" }) => network).join(", "), drop: 1 },
    { header: "PHASE", cell: ({ party }) => party.phase, drop: 2 },
  ];
  const rows = items.flatMap(({ mac, holders }) => holders.map((party) => ({ mac, party })));
  const table = formatTable(columns, rows, tableOptions(line.options, terminal));
  return { stdout: table, stderr: overlap, exitCode };
}
