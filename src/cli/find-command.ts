import { formatMac, type Mac, parseMac } from "../api/mac.ts";
import type { MACClaim } from "../api/mac-claim.ts";
import type { MACPool } from "../api/mac-pool.ts";
import { parseRangeText, rangeContains } from "../api/mac-range.ts";
import { describeClaim, ownerName, ownersOf } from "./claim-text.ts";
import { UsageError } from "./command-line.ts";
import type { Command, CommandInput, CommandResult } from "./commands.ts";
import { formatClaims } from "./list-command.ts";
import { formatObjects } from "./objects-text.ts";

/** Fewer hex digits are taken for a name, not for a part of an address. */
const MIN_PART_DIGITS = 4;

/** `kubectl macpool find`: an address or a part of one, or the name of a VM, a VMI, a pod or a namespace. */
export const findCommand: Command = async (input) => {
  const [wanted, ...more] = input.line.args;
  if (wanted === undefined || more.length > 0) {
    throw new UsageError("find takes one argument: a MAC address, a part of one, a VM, a pod or a namespace");
  }
  const mac = parseMac(wanted);
  return mac === undefined ? findByText(wanted, input) : findByMac(mac, input);
};

async function findByMac(mac: Mac, input: CommandInput): Promise<CommandResult> {
  const claim = await input.cluster.claim(mac);
  if (claim !== undefined) return show([claim], input);
  const formatted = formatObjects([], input.line.options.output);
  if (formatted !== undefined) return { stdout: formatted, exitCode: 0 };
  const pool = (await input.cluster.pools()).find((candidate) => isIn(candidate, mac));
  const where = pool === undefined ? "it is not in any pool" : `it is in pool ${pool.metadata.name}`;
  return { stdout: `${formatMac(mac)} is free; ${where}\n`, exitCode: 0 };
}

async function findByText(wanted: string, input: CommandInput): Promise<CommandResult> {
  const claims = await input.cluster.claims();
  const named = claims.filter((claim) =>
    ownersOf(claim).some((owner) => isNamed(wanted, ownerPath(owner), input.namespace)),
  );
  if (named.length > 0) return show(named, input);
  const inNamespace = claims.filter((claim) => ownersOf(claim).some(({ namespace }) => namespace === wanted));
  if (inNamespace.length > 0) return table(inNamespace, input, wanted);
  const digits = wanted.toLowerCase().replace(/[:.-]/g, "");
  const isPart = /^[0-9a-f]+$/.test(digits) && digits.length >= MIN_PART_DIGITS;
  const partly = isPart ? claims.filter(({ spec }) => spec.mac.replaceAll(":", "").includes(digits)) : [];
  if (partly.length > 0) return table(partly, input, undefined);
  const stderr = `no MAC address found for ${JSON.stringify(wanted)}: try kubectl macpool list -A, or -n NAMESPACE`;
  return { stdout: "", stderr, exitCode: 1 };
}

/** `name` in the namespace, `namespace/name`, or `kind/namespace/name` in any case. */
function isNamed(wanted: string, path: readonly [string, string, string], namespace: string | undefined): boolean {
  const [kind, ownNamespace, name] = path;
  const parts = wanted.split("/");
  if (parts.length === 1) return wanted === name && (namespace === undefined || namespace === ownNamespace);
  if (parts.length === 2) return parts[0] === ownNamespace && parts[1] === name;
  return parts[0]?.toLowerCase() === kind.toLowerCase() && parts[1] === ownNamespace && parts[2] === name;
}

function ownerPath(owner: ReturnType<typeof ownersOf>[number]): [string, string, string] {
  return [owner.kind, owner.namespace, ownerName(owner)];
}

async function show(claims: readonly MACClaim[], input: CommandInput): Promise<CommandResult> {
  const { output } = input.line.options;
  const formatted = formatObjects(claims, output);
  if (formatted !== undefined) return { stdout: formatted, exitCode: 0 };
  const pools = await input.cluster.pools();
  const texts: string[] = [];
  for (const claim of claims) {
    const places = await Promise.all(ownersOf(claim).map((owner) => input.cluster.place(owner)));
    texts.push(describeClaim(claim, { pools, places, nowMs: input.nowMs }));
  }
  return { stdout: texts.join("\n"), exitCode: 0 };
}

function table(claims: readonly MACClaim[], input: CommandInput, namespace: string | undefined): CommandResult {
  const { output, noHeaders } = input.line.options;
  const options = { namespace, wide: output === "wide", noHeaders, nowMs: input.nowMs };
  return { stdout: formatObjects(claims, output) ?? formatClaims(claims, options), exitCode: 0 };
}

function isIn(pool: MACPool, mac: Mac): boolean {
  return (pool.status?.ranges ?? []).some((text) => {
    const range = parseRangeText(text);
    return range !== undefined && rangeContains(range, mac);
  });
}
