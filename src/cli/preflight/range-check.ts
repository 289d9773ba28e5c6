import { addressesIn } from "../../api/host-interfaces.ts";
import { firstOctet, formatMac, type Mac, parseMac } from "../../api/mac.ts";
import { formatRange, type MacRange, parseRange, rangeContains } from "../../api/mac-range.ts";
import type { Node } from "../../kube/client/built-in-kinds.ts";
import { bounded, type CheckLine, listed, note, ok, toDo, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import type { PreflightFacts } from "./preflight-facts.ts";

/** Whether the range that the pool will have is one to give out. */

export interface RangeToCheck {
  readonly ranges: readonly MacRange[];
  /** What `ranges` are, for a sentence. */
  readonly source: string;
}

/**
 * What the user asked about, or what the operator will find; lines where there is nothing to check. `fix`: the command with a range
 * that is free in all clusters.
 */
export function rangeToCheck(
  { ranges }: PreflightFacts,
  { ranges: asked, others }: { readonly ranges: readonly MacRange[]; readonly others: readonly unknown[] },
  fix: () => string,
): RangeToCheck | readonly CheckLine[] {
  if (asked.length > 0) return { ranges: asked, source: "--range" };
  if ("unknown" in ranges) return [unchecked("range", "which range the MAC pool will have", ranges.unknown)];
  const { ranges: planned = [], source } = ranges.value ?? {};
  if (source === undefined) {
    const text =
      "No range is set: the operator takes 16,777,216 addresses 02:xx:xx:... at random. With --range you check one of your own.";
    return [others.length === 0 ? note("range", text) : note("range", text, fix())];
  }
  const parsed = planned.map(({ start, end }) => parseRange({ rangeStart: start, rangeEnd: end }));
  const wrong = parsed.flatMap((one) => (one.ok ? [] : one.reason));
  if (wrong.length > 0) return wrong.map((reason) => toDo("range", `${source}: ${reason}`, fix()));
  return { ranges: parsed.flatMap((one) => (one.ok ? one.range : [])), source };
}

export function checkRange({ ranges, source }: RangeToCheck, facts: PreflightFacts): readonly CheckLine[] {
  const text = listed(ranges.map(formatRange));
  const manufacturers = ranges.filter(hasManufacturers);
  const hosts = hostsIn(ranges, facts);
  const lines = [
    ...manufacturers.map((range) => {
      const what = `${formatRange(range)} holds addresses of manufacturers, which cards outside the cluster may have.`;
      return note("range", `${what} Take one whose first octet ends with 2, 6, A or E.`);
    }),
    ...bounded(hosts, (count) => note("range", `${count} more addresses of the range are of nodes.`)),
    ...unreadable(facts),
  ];
  return [ok("range", `${text} (${source}) is a range that a pool can have.`), ...lines];
}

/** Whether the first octet of some of its addresses lacks the bit of local administration. */
function hasManufacturers({ start, end }: MacRange): boolean {
  const [first, last] = [firstOctet(start), firstOctet(end)];
  const octets = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return octets.some((octet) => (octet & 0b11) === 0);
}

/** What nodes say of themselves: in their NodeMACs, and in annotations of network plugins. */
function hostsIn(ranges: readonly MacRange[], { nodes, reports }: PreflightFacts): readonly CheckLine[] {
  const found = new Map<string, string>();
  const add = (mac: Mac, where: string): void => {
    if (ranges.some((range) => rangeContains(range, mac)))
      found.set(`${mac} ${where}`, `${formatMac(mac)} is the address of ${where}`);
  };
  for (const node of knownValue(nodes) ?? []) {
    for (const { mac, annotation } of macsInAnnotations(node))
      add(mac, `node ${node.metadata.name}, as its annotation ${annotation} says`);
  }
  for (const report of knownValue(reports) ?? []) {
    for (const [mac, nic] of addressesIn(report)) add(mac, `interface ${nic} of node ${report.metadata.name}`);
  }
  return [...found.values()].map((text) => note("range", `${text}: the pool gives it to no VM.`));
}

const MAC_TEXT = /(?<![0-9a-f:])[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?![0-9a-f:])/gi;

function macsInAnnotations({ metadata }: Node): { readonly mac: Mac; readonly annotation: string }[] {
  return Object.entries(metadata.annotations ?? {}).flatMap(([annotation, text]) =>
    [...new Set(text.match(MAC_TEXT) ?? [])].flatMap((found) => {
      const mac = parseMac(found);
      return mac === undefined ? [] : [{ mac, annotation }];
    }),
  );
}

function unreadable({ nodes }: PreflightFacts): readonly CheckLine[] {
  return "unknown" in nodes ? [unchecked("range", "whether nodes have addresses of it", nodes.unknown)] : [];
}
