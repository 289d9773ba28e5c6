/** Where ours differs from the reference on purpose, each with its reason. */

import type { DifferentialCase } from "./case-generator.ts";
import type { Difference } from "./comparison.ts";

export interface AllowedDifference {
  readonly reason: string;
  matches(difference: Difference, one: DifferentialCase): boolean;
}

const key = (one: DifferentialCase, name: string): unknown =>
  Object.entries(one.config).find(([spelled]) => spelled.toLowerCase() === name.toLowerCase())?.[1];

const namesNoVlan = (trunk: unknown): boolean =>
  Array.isArray(trunk) && trunk.every((entry) => !["id", "minID"].some((known) => known in Object(entry)));

const hasIpam = (one: DifferentialCase): boolean => {
  const ipam = key(one, "ipam");
  return typeof ipam === "object" && ipam !== null && "type" in ipam;
};

const ofIpv4 = (routes: unknown): string =>
  JSON.stringify(
    Array.isArray(routes) ? routes.filter(({ dst }: { dst?: unknown }) => !`${dst}`.includes(":")) : routes,
  );

/** A state of the node that both sides were brought to, or that ours was in at two times. */
const STATE = "(added|deleted|second ADD|GC|GC of others|GC without a list|disturbed by [^.]+|left by GC)";
const CARRIER = new RegExp(`^${STATE}\\.node\\.links\\[\\d\\]\\.(operstate|carrier.*|port\\.state)$`);
const LINK_ADDRESS = new RegExp(`^${STATE}\\.node\\.links\\[\\d\\]\\.address$`);
const DEL = /^(del|(DEL without netns|second DEL)\.outcome)$/;
const ROUTER_ADVERTISEMENTS = new RegExp(`^${STATE}\\.node\\.sysctls`);
const QUEUE_LENGTH = new RegExp(`^${STATE}\\.node\\.links\\[\\d\\]\\.txqlen$`);
const TENTATIVE = new RegExp(`^${STATE}\\.node\\.addresses.*\\.tentative$`);
const ROUTES = new RegExp(`^${STATE}\\.node\\.routes$`);
const CONTAINER_SYSCTLS = new RegExp(`^${STATE}\\.container\\.sysctls`);

/** Longer ones have room in no file's name. */
const LONGEST_ID = 255;

/** Where the interface that tuning found differs after DEL. */
const ofTuned = (at: string, one: DifferentialCase): boolean =>
  key(one, "type") === "tuning" && /^deleted\.container\.links\[\d\]/.test(at);

/** After an ADD only a new bridge, or a port whose other end stays down, may not know of its carrier yet. */
function isCarrier({ at, reference, ours }: Difference, one: DifferentialCase): boolean {
  if (!CARRIER.test(at)) return false;
  const isBridge = at.endsWith(".operstate") && [reference, ours].sort().join() === "UNKNOWN,UP";
  return !at.startsWith("added") || key(one, "disableContainerInterface") === true || isBridge;
}

export const ALLOWED_DIFFERENCES: readonly AllowedDifference[] = [
  {
    reason: "a bridge that an ADD made keeps its MAC when its last port goes; the reference's has none then",
    matches: ({ at, reference, ours }) => LINK_ADDRESS.test(at) && reference === "00:00:00:00:00:00" && ours === "MAC",
  },
  {
    reason: "a bridge that was there keeps its accept_ra: it may be the node's own uplink",
    matches: ({ at, reference }, { before }) =>
      before.length > 0 && ROUTER_ADVERTISEMENTS.test(at) && /\/br[a-z0-9]*\/accept_ra=0$/.test(`${reference}`),
  },
  {
    reason: "wrong CNI_ARGS are an error of the environment, which the reference calls an internal one",
    matches: ({ at, reference, ours }, { cniArgs }) =>
      ["outcome", "STATUS.outcome"].includes(at) && cniArgs !== "" && reference === "other" && ours === "environment",
  },
  {
    reason: "a container's id that is too long for the name of a file or chain is an error of the environment",
    matches: ({ at, reference, ours }, { variables }) =>
      at === "outcome" &&
      (variables.CNI_CONTAINERID ?? "").length > LONGEST_ID &&
      reference === "other" &&
      ours === "environment",
  },
  {
    reason:
      "a MAC in the result is spelled as the kernel spells it; the reference's tuning gives it as it was configured",
    matches: ({ at, reference, ours }) =>
      /^(second ADD\.)?result\.interfaces\[\d\]\.mac$/.test(at) &&
      `${reference}`.toLowerCase().replaceAll("-", ":") === ours,
  },
  {
    reason: "results of 1.1.0 name each interface's MTU, so that it can be shown",
    matches: ({ at, reference, ours }) =>
      /^(second ADD\.)?result\.interfaces\[\d\]\.mtu$/.test(at) && reference === undefined && typeof ours === "number",
  },
  {
    reason: "CHECK works for layer 2 networks, where the reference always fails",
    matches: ({ at, reference, ours }, one) =>
      at === "check" && key(one, "type") === "bridge" && !hasIpam(one) && reference === "other" && ours === "success",
  },
  {
    reason: "a value that no interface or back end can have is refused also where nothing would come of it",
    matches: ({ at, reference }, one) =>
      at === "outcome" &&
      reference === "success" &&
      ["mtu", "ipMasqBackend", "dns", "vlanTrunk"].includes(one.spoiled ?? ""),
  },
  {
    reason: "a version without interfaces can't tell of a layer 2 attachment: an error of the version, and early",
    matches: ({ at, reference, ours }, one) =>
      at === "outcome" &&
      ["0.1.0", "0.2.0"].includes(`${key(one, "cniVersion")}`) &&
      reference === "other" &&
      ours === "version",
  },
  {
    reason:
      "forwarding of the node, a bridge that is up (and deaf to router advertisements), and the shared table of the spoof check stay after a failure",
    matches: ({ at, ours }) =>
      (/^leftBehind\.node\.sysctls/.test(at) && /(forward(ing)?=1|accept_ra=0)$/.test(`${ours}`)) ||
      /^leftBehind\.node\.(links\[\d\]\.(flags|carrier|operstate|address)|routes)/.test(at) ||
      (at === "leftBehind.node.nftables" && !JSON.stringify(ours).includes('"rule"')),
  },
  {
    reason: "a port whose other end is down is said to be down in either of two ways, by when it was looked at",
    matches: ({ at, reference, ours }) =>
      at.endsWith(".operstate") && `${reference}${ours}`.replace("LOWERLAYER", "") === "DOWNDOWN",
  },
  {
    reason:
      "a vlanTrunk may name no VLAN: then a new bridge does not filter (and is made where the kernel can't filter)",
    matches: ({ at, reference, ours }, one) =>
      namesNoVlan(key(one, "vlanTrunk")) &&
      ((at === "outcome" && reference === "other" && ours === "success") ||
        (at.endsWith(".filtering") && reference === 1 && ours === 0)),
  },
  {
    reason: "CHECK finds routes in the table they are in; the reference looks into the main one only",
    matches: ({ at, reference, ours }, one) =>
      at === "check" && reference === "other" && ours === "success" && JSON.stringify(one.config).includes('"table"'),
  },
  {
    reason:
      "the bridge's carrier, and the IPv6 addresses that wait for it, follow its ports a moment later on either side",
    matches: (difference, one) => {
      const { at, reference, ours } = difference;
      if (TENTATIVE.test(at)) return true;
      return (ROUTES.test(at) && ofIpv4(reference) === ofIpv4(ours)) || isCarrier(difference, one);
    },
  },
  {
    reason: "booleans and whole numbers in quotes, as some documentation shows them, are taken with a warning",
    matches: ({ at, reference, ours }, one) =>
      ["outcome", "STATUS.outcome"].includes(at) &&
      reference === "other" &&
      ours === "success" &&
      ["true", "false", "5", "1500"].includes(`${key(one, one.spoiled ?? "")}`) &&
      typeof key(one, one.spoiled ?? "") === "string",
  },
  {
    reason: "CHECK of tuning takes a MAC in any spelling, and asks for promisc only where it is true",
    matches: ({ at, reference, ours }, one) =>
      at === "check" && key(one, "type") === "tuning" && reference === "other" && ours === "success",
  },
  {
    reason: "args.cni.sysctl works without sysctl; the reference's tuning crashes",
    matches: ({ at, reference, ours }, one) =>
      at === "outcome" &&
      reference === "other" &&
      ours === "success" &&
      key(one, "sysctl") === undefined &&
      JSON.stringify(key(one, "args"))?.includes('"sysctl"') === true,
  },
  {
    reason: "a wrong value of tuning does not matter where args.cni gives another one",
    matches: ({ at, reference, ours }, one) =>
      at === "outcome" &&
      reference === "other" &&
      ours === "success" &&
      JSON.stringify(key(one, "args"))?.includes(`"${one.spoiled}"`) === true,
  },
  {
    reason: "a new bridge keeps the kernel's queue length, which bridges do not use; the reference sets 0",
    matches: ({ at, reference, ours }) => QUEUE_LENGTH.test(at) && reference === undefined && ours === 1000,
  },
  {
    reason: "quiet, a key of ours, keeps IPv6 off the container's interface",
    matches: ({ at, ours }, one) =>
      key(one, "quiet") === true && CONTAINER_SYSCTLS.test(at) && `${ours}`.endsWith("/disable_ipv6=1"),
  },
  {
    reason: "acceptRa, a key of ours, switches router advertisements off in the container's interface",
    matches: ({ at, ours }, one) =>
      key(one, "acceptRa") === false && CONTAINER_SYSCTLS.test(at) && `${ours}`.endsWith("/accept_ra=0"),
  },
  {
    reason: "allowedMacs, a key of ours, has rules besides those of the spoof check, until DEL",
    matches: ({ at }, one) =>
      key(one, "allowedMacs") !== undefined &&
      key(one, "macspoofchk") === true &&
      /\.node\.nftables/.test(at) &&
      !at.startsWith("deleted"),
  },
  {
    reason: "enableVlanFiltering, a key of ours, turns filtering on at a bridge that has it off",
    matches: ({ at, reference, ours }, one) =>
      key(one, "enableVlanFiltering") === true && at.endsWith(".filtering") && reference === 0 && ours === 1,
  },
  {
    reason: "requireVlanFiltering, a key of ours, refuses a bridge that does not filter",
    matches: ({ at, reference, ours }, one) =>
      key(one, "requireVlanFiltering") === true &&
      one.before.length > 0 &&
      !JSON.stringify(one.before).includes("vlan_filtering") &&
      at === "outcome" &&
      reference === "success" &&
      ours === "configuration",
  },
  {
    reason: "GC removes what is not listed; the reference's does nothing",
    matches: ({ at, reference, ours }) => at === "GC.removes" && !reference && ours === true,
  },
  {
    reason: "a mistake of the configuration is called one; the reference calls most of them internal errors",
    matches: ({ at, reference, ours }) =>
      /^(check|del|outcome|.*\.outcome)$/.test(at) && reference === "other" && ours === "configuration",
  },
  {
    reason: "tuning restores what the first ADD found, whatever later ones did; the reference what the last one found",
    matches: ({ at }, one) => ofTuned(at, one) && one.extras.includes("second ADD"),
  },
  {
    reason: "tuning forgets what to restore where a container is gone: it is not listed at GC, or its DEL has no netns",
    matches: ({ at }, one) =>
      ofTuned(at, one) && (one.extras.includes("GC") || one.extras.includes("DEL without netns")),
  },
  {
    reason: "a cniVersion that is none is incompatible at each call; the reference can't decode it at those of 1.1.0",
    matches: ({ at, reference, ours }, one) =>
      /^(STATUS|GC|GC of others|GC without a list)\.outcome$/.test(at) &&
      one.spoiled === "cniVersion" &&
      reference === "decoding" &&
      ours === "version",
  },
  {
    reason: "of two mistakes, one of them a version without the call, either may be named",
    matches: ({ at, ours }, one) =>
      /^(STATUS|GC|GC of others|GC without a list)\.outcome$/.test(at) &&
      one.spoiled !== undefined &&
      key(one, "cniVersion") !== "1.1.0" &&
      ours === "version",
  },
  {
    reason: "STATUS says what would keep an ADD from working; the reference asks the IPAM plugin only",
    matches: ({ at, reference, ours }) =>
      at === "STATUS.outcome" &&
      ((reference === "success" && ours !== "success") || (reference === "other" && ours === "not available")),
  },
  {
    reason: "DEL of a configuration that is wrong removes the attachment all the same",
    matches: ({ at, reference, ours }) => DEL.test(at) && reference !== "success" && ours === "success",
  },
];

export function reasonFor(difference: Difference, one: DifferentialCase): string | undefined {
  return ALLOWED_DIFFERENCES.find((allowed) => allowed.matches(difference, one))?.reason;
}
