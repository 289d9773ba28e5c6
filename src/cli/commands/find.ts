import { describeHosts, STATION } from "../../api/host-interfaces.ts";
import { isNamespaceName, isObjectName } from "../../api/legal-names.ts";
import { formatMac, type Mac, parseMac } from "../../api/mac.ts";
import type { CollisionView, OwnerView } from "../../mac-pool/inspection/rest/views.ts";
import { plain } from "../backends/plain-text.ts";
import type { KnownClaim, ListedClaim } from "../backends/pool-backend.ts";
import {
  besideText,
  describeClaim,
  describeOwner,
  describeUnclaimed,
  formatClaims,
  hiddenText,
  ownerName,
} from "../claim-text.ts";
import type { CommandInput, CommandResult, CommandSpec } from "../command.ts";
import { oneArgument } from "../command-line.ts";
import { CliError } from "../faults.ts";
import { type NamedOwner, namedOwner, OWNER_FORMS, ownersNamed } from "../owner-argument.ts";
import { withCommas } from "../quantities.ts";
import { wrapped } from "../terminal.ts";
import { claimNameOf, formatList, formatViews } from "../views-text.ts";

/** Fewer hex digits are taken for a name, not for a part of an address. */
const MIN_PART_DIGITS = 4;

export const find: CommandSpec = {
  name: "find",
  args: "WHAT",
  summary: "who has an address, or the addresses of a VM or namespace",
  details: [
    "WHAT is a MAC address in any notation, a part of one (four hex digits or more), " +
      `${OWNER_FORMS} of a VM, a VMI or a pod, or a namespace.`,
    "Of a part it also shows nodes and stations outside the cluster, if you may read NodeMACs.",
    "Ends with 1 where nothing is found, or an address is in use twice.",
  ],
  examples: [
    "kubectl macpool find 02-5D-1C-00-00-A3",
    "kubectl macpool find 5d:1c:00",
    "kubectl macpool find vm/lab/web",
  ],
  offers: "namespaces",
  run: async (input) => {
    const wanted = oneArgument(input.line, "a MAC address, a part of one, a VM, a pod or a namespace");
    const mac = parseMac(wanted);
    return mac === undefined ? findByText(wanted, input) : findByMac(mac, input);
  },
};

async function findByMac(mac: Mac, input: CommandInput): Promise<CommandResult> {
  const { onlyNamespace, ask } = input;
  const claim = await ask((backend) => backend.claim(mac, onlyNamespace));
  if (claim !== undefined) return show([claim], input);
  const { line, terminal } = input;
  const formatted = formatViews(line, { items: [], total: 0 }, []);
  if (formatted !== undefined) return { stdout: formatted, exitCode: 0 };
  const namespace = (await input.namespace()) ?? (await input.open()).defaultNamespace;
  const address = await ask((backend) => backend.unclaimed(mac, namespace));
  const said = besideText(formatMac(mac), address, terminal);
  const collision = (await collisionsIn(namespace, input)).get(formatMac(mac));
  const stdout = wrapped(terminal, describeUnclaimed(mac, address), 0) + said + hiddenUsers(collision, address, input);
  return { stdout, exitCode: collision === undefined ? 0 : 1 };
}

async function findByText(wanted: string, input: CommandInput): Promise<CommandResult> {
  // A user with rights in one namespace only has to name it. Without a name, all namespaces are searched.
  const namespace = input.onlyNamespace;
  const search = wanted.split("/").at(-1)?.replace(/\*$/, "");
  const meant = namedOwner(wanted);
  const claims = await input.ask((backend) => backend.claims(input.onlyNamespace, search));
  const named = claims.filter(({ owners }) => owners.some((owner) => isNamed(meant, owner, namespace)));
  if (named.length > 0) return show(await detailed(named, input), input);
  const inNamespace = claims.filter(({ owners }) => owners.some((owner) => owner.namespace === wanted));
  if (inNamespace.length > 0) return table(inNamespace, input, wanted);
  const digits = wanted.toLowerCase().replace(/[:.-]/g, "");
  const isPart = /^[0-9a-f]+$/.test(digits) && digits.length >= MIN_PART_DIGITS;
  const partly = isPart ? claims.filter(({ mac }) => mac.replaceAll(":", "").includes(digits)) : [];
  const others = isPart && namespace === undefined ? await othersWith(digits, partly, input) : NOBODY;
  if (partly.length > 0 || others.count > 0) return withOthers(partly, others, input);
  const taken = await findTaken(meant, input);
  if (taken !== undefined) return taken;
  const isShort = /^[0-9a-f]+$/.test(digits) && !isPart;
  const short = isShort ? `a part of an address has at least ${MIN_PART_DIGITS} hex digits; ` : "";
  const [where, advice] =
    namespace === undefined
      ? ["", "try kubectl macpool list -A, or -n NAMESPACE if you may read one namespace only"]
      : [` in namespace ${namespace}`, `kubectl macpool list -n ${namespace} shows what there is`];
  const stderr = `no MAC address found for ${JSON.stringify(wanted)}${where}: ${short}${advice}`;
  return {
    stdout: formatViews(input.line, { items: [], total: 0 }, []) ?? "",
    stderr,
    exitCode: 1,
    emptyIn: meant.namespace ?? namespace,
  };
}

/** Addresses of an object that has no claim of its own for them. Undefined where there are none, and for programs, which read claims. */
async function findTaken(meant: NamedOwner, input: CommandInput): Promise<CommandResult | undefined> {
  const namespace = meant.namespace ?? input.onlyNamespace ?? "";
  const { output } = input.line.options;
  const isForPeople = output === "table" || output === "wide";
  if (!isForPeople || !isNamespaceName(namespace) || !isObjectName(meant.name)) return undefined;
  for (const owner of ownersNamed(meant, namespace)) {
    const { interfaces = [] } = (await input.ask((backend) => backend.owner(owner))) ?? {};
    const taken = interfaces.filter(({ claim, holder }) => claim === undefined || holder !== undefined);
    if (taken.length === 0) continue;
    const texts = taken.map(async ({ mac, holder }) => {
      const { stdout, exitCode } = await findByMac(parseMac(mac) as Mac, input);
      const whose = holder === undefined ? "and no claim of it" : `of ${describeOwner({ ...holder, namespace })}`;
      return { stdout: wrapped(input.terminal, `${describeOwner(owner)} has ${mac}, ${whose}.`, 0) + stdout, exitCode };
    });
    const results = await Promise.all(texts);
    const exitCode = results.some((one) => one.exitCode === 1) ? 1 : 0;
    return { stdout: results.map(({ stdout }) => stdout).join("\n"), exitCode };
  }
  return undefined;
}

/** Nodes, and stations outside the cluster, with an address of such a part. */
interface Others {
  readonly count: number;
  readonly lines: readonly string[];
  readonly note?: string;
}

const MAX_OTHERS = 20;
const NOBODY: Others = { count: 0, lines: [] };

/** A VM of another node comes over the uplinks too, so who has a claim is no station. */
async function othersWith(
  digits: string,
  claims: readonly ListedClaim[],
  { open, terminal }: CommandInput,
): Promise<Others> {
  const known = await (await open()).addressesOfNodes();
  const note = `note: whether a node or a ${STATION} has such an address is not known: you may not read NodeMACs`;
  if (known === undefined) return { ...NOBODY, note };
  const held = new Set(claims.map(({ mac }) => mac));
  const found = [...known].filter(([mac, hosts]) => {
    const text = formatMac(mac);
    const isHeld = held.has(text) && hosts.every(({ isBeyond }) => isBeyond);
    return text.replaceAll(":", "").includes(digits) && !isHeld;
  });
  const lines = found
    .sort(([one], [other]) => one - other)
    .slice(0, MAX_OTHERS)
    .map(([mac, hosts]) => wrapped(terminal, `${formatMac(mac)} is the address of ${plain(describeHosts(hosts))}.`, 0));
  const left = found.length - lines.length;
  return { count: found.length, lines: left === 0 ? lines : [...lines, `${withCommas(left)} more are not shown.\n`] };
}

function withOthers(claims: readonly ListedClaim[], { lines, note }: Others, input: CommandInput): CommandResult {
  const formatted = formatList(input.line, claims, claimNameOf);
  if (formatted !== undefined) return { stdout: formatted, exitCode: 0 };
  const shown = claims.length === 0 ? [] : [formatClaims(claims, undefined, input)];
  const parts = lines.length === 0 ? shown : [...shown, lines.join("")];
  return { stdout: parts.join("\n"), ...(note === undefined ? {} : { stderr: note }), exitCode: 0 };
}

/** A list may leave out where owners run. */
function detailed(
  claims: readonly ListedClaim[],
  { onlyNamespace, ask }: CommandInput,
): Promise<readonly KnownClaim[]> {
  return ask((backend) =>
    Promise.all(claims.map(async (claim) => (await backend.claim(parseMac(claim.mac) as Mac, onlyNamespace)) ?? claim)),
  );
}

/** Without a namespace of its own, in the one that is given; without any, in all. */
function isNamed({ kind, namespace: own, name }: NamedOwner, owner: OwnerView, namespace: string | undefined): boolean {
  const inside = own ?? namespace;
  const isThere = inside === undefined || inside === owner.namespace;
  return isThere && name === ownerName(owner) && (kind === undefined || kind === owner.kind);
}

/** With what collides, which ends with 1 as in `collisions`. */
async function show(claims: readonly KnownClaim[], input: CommandInput): Promise<CommandResult> {
  const { line, nowMs, terminal, onlyNamespace } = input;
  const colliding = await collisionsIn(onlyNamespace, input);
  const known = claims.map((claim) => ({ claim, collision: colliding.get(claim.mac) }));
  const views = known.map(({ claim, collision }) => (collision === undefined ? claim : { ...claim, collision }));
  const texts = known.map(({ claim, collision }) => {
    return describeClaim(claim, terminal, nowMs) + hiddenUsers(collision, claim, input);
  });
  const collides = known.some(({ collision }) => collision !== undefined);
  return { stdout: formatList(line, views, claimNameOf) ?? texts.join("\n"), exitCode: collides ? 1 : 0 };
}

/** By address, as far as the user may know them. */
async function collisionsIn(
  namespace: string | undefined,
  { ask }: CommandInput,
): Promise<ReadonlyMap<string, CollisionView>> {
  try {
    const { items } = await ask((backend) => backend.collisions(namespace));
    return new Map(items.map((collision) => [collision.mac, collision]));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return new Map();
  }
}

/** Users of the address that the owners in its text do not tell of; nothing for none. */
function hiddenUsers(
  collision: CollisionView | undefined,
  { elsewhere }: { readonly elsewhere: number },
  { terminal }: CommandInput,
): string {
  if (collision === undefined || collision.elsewhere <= elsewhere) return "";
  const [who] = hiddenText(collision.elsewhere);
  return wrapped(terminal, `${collision.mac} is also used by ${who}.`, 0);
}

function table(claims: readonly ListedClaim[], input: CommandInput, namespace: string | undefined): CommandResult {
  const formatted = formatList(input.line, claims, claimNameOf);
  return { stdout: formatted ?? formatClaims(claims, namespace, input), exitCode: 0 };
}
