import { formatMac, parseMac } from "../../api/mac.ts";
import type { MacRange } from "../../api/mac-range.ts";
import { type ClusterAddresses, compareRanges } from "../cluster-comparison.ts";
import type { CommandInput } from "../command.ts";
import { CliError } from "../faults.ts";
import { withCommas } from "../quantities.ts";
import { identityOf } from "../several-clusters.ts";
import { addressesOf, type FoundAddresses, ownerText } from "./address-check.ts";
import { bounded, type CheckLine, listed, note, ok, toDo, unchecked } from "./check-line.ts";
import { ClusterReader } from "./cluster-reader.ts";
import { readObjects, readRanges } from "./preflight-facts.ts";

/** Ranges and addresses of the clusters that share a layer-2 network with this one, whether our product is there or not. */

export interface OtherCluster {
  readonly context: string;
  readonly ranges: readonly MacRange[] | undefined;
  readonly addresses: FoundAddresses;
  readonly unknown: readonly CheckLine[];
}

export async function readOthers(
  contexts: readonly string[],
  input: CommandInput,
): Promise<{ readonly others: readonly OtherCluster[]; readonly lines: readonly CheckLine[] }> {
  const { requestTimeoutMs } = input.line.options;
  const own = await identityOf(await input.open(), requestTimeoutMs);
  const read = await Promise.all(
    contexts.map(async (context): Promise<OtherCluster | CheckLine> => {
      try {
        const cluster = await input.open(context);
        if ((await identityOf(cluster, requestTimeoutMs)) === own) {
          return note("range", `Context ${context} is this cluster: it is not compared with itself.`);
        }
        return await readOther(context, new ClusterReader(cluster.client, requestTimeoutMs));
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        return unchecked("range", `context ${context}`, error.message);
      }
    }),
  );
  return {
    others: read.flatMap((one) => ("check" in one ? [] : one)),
    lines: read.flatMap((one) => ("check" in one ? one : [])),
  };
}

async function readOther(context: string, reader: ClusterReader): Promise<OtherCluster> {
  const [ranges, objects] = await Promise.all([readRanges(reader), readObjects(reader)]);
  const addresses = addressesOf(objects);
  const parsed = "value" in ranges ? (ranges.value ?? []).flatMap(rangeOf) : undefined;
  const unknown = "unknown" in ranges ? [unchecked("range", `the range of context ${context}`, ranges.unknown)] : [];
  const missing = addresses.unknown.map((line) => ({ ...line, text: `context ${context}: ${line.text}` }));
  return { context, ranges: parsed, addresses, unknown: [...unknown, ...missing] };
}

export function checkOthers(
  ranges: readonly MacRange[],
  addresses: FoundAddresses,
  others: readonly OtherCluster[],
  fix: () => string,
): readonly CheckLine[] {
  const { overlaps } = compareRanges([asAddresses("this cluster", ranges, addresses), ...others.map(stateOf)]);
  const ours = overlaps.filter(({ between: [one] }) => one.startsWith("this cluster/"));
  const overlapping = ours.map(({ first, last, addresses: count, between: [, other] }) => {
    const context = other.replace(/\/[^/]*$/, "");
    const many = count === 1 ? "1 address" : `${withCommas(count)} addresses`;
    return toDo("range", `Context ${context} hands out ${first}-${last} too (${many}): take another range.`, fix());
  });
  const known = others.filter(({ ranges: theirs }) => theirs !== undefined).map(({ context }) => context);
  const apart = ok("range", `${listed(known)} ${known.length === 1 ? "hands" : "hand"} out none of these addresses.`);
  return [
    ...(ranges.length === 0 ? [] : overlapping.length > 0 ? overlapping : known.length > 0 ? [apart] : []),
    ...others.flatMap((other) => [...shared(addresses, other), ...other.unknown]),
  ];
}

function shared(addresses: FoundAddresses, { context, addresses: theirs }: OtherCluster): readonly CheckLine[] {
  const both = [...addresses.owners].filter(([mac]) => theirs.owners.has(mac)).sort(([one], [other]) => one - other);
  const lines = both.map(([mac, owners]) => {
    const [here, there] = [owners, theirs.owners.get(mac) ?? []].map((each) => listed(each.map(ownerText)));
    return note("addresses", `${formatMac(mac)} belongs to ${here}, and in context ${context} to ${there}.`);
  });
  return bounded(lines, (count) => note("addresses", `${count} more addresses are in use in context ${context} too.`));
}

/** What `suggestRange` keeps away from. */
export function stateOf({ context, ranges = [], addresses }: OtherCluster): ClusterAddresses {
  return asAddresses(context, ranges, addresses);
}

export function asAddresses(cluster: string, ranges: readonly MacRange[], addresses: FoundAddresses): ClusterAddresses {
  const none = { capacity: 0, used: 0, free: 0, pending: 0, quarantined: 0 };
  const held = ranges.map(({ start, end }) => ({ first: formatMac(start), last: formatMac(end), ...none }));
  const claims = [...addresses.owners.keys()].map((mac) => ({ mac: formatMac(mac) }));
  return { cluster, pools: [{ name: "default", ranges: held }], claims };
}

function rangeOf({ start, end }: { readonly start: string; readonly end: string }): readonly MacRange[] {
  const [first, last] = [parseMac(start), parseMac(end)];
  return first === undefined || last === undefined || last < first ? [] : [{ start: first, end: last }];
}
