/** What the pool of the golden outputs answers, checked against the schemas of inspection. */
import * as z from "zod";
import { claimViewSchema, denialViewSchema, poolViewSchema } from "../../../src/mac-pool/inspection/rest/views.ts";

export const NOW = Date.parse("2026-11-21T09:16:03Z");

export const AGO = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString().replace(".000", "");

export const FIRST = "02:5d:1c:00:00:a3";

export const pools = z.array(poolViewSchema).parse([
  {
    name: "default",
    ranges: [
      {
        first: "02:5d:1c:00:00:00",
        last: "02:5d:1c:ff:ff:ff",
        capacity: 16777216,
        used: 2,
        free: 16777214,
        pending: 0,
        quarantined: 1,
        stations: { count: 17, mac: "02:5d:1c:00:00:a4", node: "node-a", uplink: "eno2" },
      },
    ],
    exclusions: [],
    serves: "namespaces that no other pool serves",
    conflictPolicy: "Deny",
    conflictScope: "Cluster",
    quarantineSeconds: 60,
    capacity: 16777216,
    used: 2,
    free: 16777214,
    pending: 0,
    quarantined: 1,
    outOfRange: 1,
    conflicts: 0,
    rate: { allocationsPerDay: 12.5, releasesPerDay: 4, netPerDay: 8.5, windowSeconds: 172800 },
    daysToFull: { days: 1973789, atLeast: 900000, atMost: null, reason: "Counted for 2 days: 25 allocations." },
  },
  {
    name: "lab",
    ranges: [
      {
        first: "0a:00:00:00:00:00",
        last: "0a:00:00:00:00:07",
        capacity: 8,
        used: 8,
        free: 0,
        pending: 1,
        quarantined: 0,
      },
      {
        first: "0a:00:00:00:00:10",
        last: "0a:00:00:00:00:13",
        capacity: 4,
        used: 3,
        free: 1,
        pending: 0,
        quarantined: 0,
      },
    ],
    exclusions: ["0a:00:00:00:00:08-0a:00:00:00:00:0f"],
    serves: "namespaces with team=lab",
    conflictPolicy: "DenyRunning",
    conflictScope: "Network",
    quarantineSeconds: 300,
    capacity: 12,
    used: 11,
    free: 1,
    pending: 1,
    quarantined: 0,
    outOfRange: 0,
    conflicts: 2,
    hostConflicts: 1,
    hostAddressPolicy: "Warn",
    rate: { allocationsPerDay: 1, releasesPerDay: 0, netPerDay: 1, windowSeconds: 3600 },
    daysToFull: { days: 1, atLeast: 0.5, atMost: 9.4, reason: "Counted for 1 hour: 1 allocation." },
  },
]);

export const owner = {
  kind: "VirtualMachine",
  namespace: "default",
  name: "web",
  uid: "4b0c",
  interface: "net1",
  network: "multus br1-net",
  since: AGO(120),
};

export const claims = z.array(claimViewSchema).parse([
  {
    name: "mac-02-00-00-00-00-01",
    mac: "02:00:00:00:00:01",
    pool: "default",
    origin: "explicit",
    phase: "Bound",
    owners: [
      { ...owner, node: "node-a", pod: "virt-launcher-web-x7k2p", interface: "net2" },
      {
        ...owner,
        kind: "VirtualMachineInstance",
        namespace: "lab",
        name: "a-machine-with-a-name-that-is-longer-than-most",
        interface: "default",
        since: AGO(3 * 86_400),
        node: "node-b",
        pod: "virt-launcher-long",
      },
    ],
    elsewhere: 1,
    inRange: false,
    created: AGO(3 * 86_400),
    revision: "71",
    hostAddress: "interface eno1 of node node-a",
  },
  {
    name: "mac-02-5d-1c-00-00-a3",
    mac: FIRST,
    pool: "default",
    origin: "automatic",
    phase: "Bound",
    owners: [{ ...owner, node: "node-a", pod: "virt-launcher-web-x7k2p" }],
    elsewhere: 0,
    inRange: true,
    range: "02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff",
    created: AGO(120),
    revision: "72",
  },
  {
    name: "mac-02-5d-1c-00-01-4e",
    mac: "02:5d:1c:00:01:4e",
    pool: "default",
    origin: "automatic",
    phase: "Quarantined",
    owners: [],
    elsewhere: 0,
    inRange: true,
    range: "02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff",
    created: AGO(600),
    until: AGO(-30),
    revision: "73",
  },
]);

export const REFUSAL =
  'MAC 02:5d:1c:00:00:a3 of interface "net1" is in use by VirtualMachine default/web (net1). Leave macAddress out to get a ' +
  "free one, or first remove it from the other VM.";

export const denials = z.array(denialViewSchema).parse([
  {
    id: "one-2",
    at: AGO(40),
    first: AGO(400),
    count: 3,
    code: "MACPOOL_CONFLICT",
    namespace: "default",
    kind: "VirtualMachine",
    name: "web-3",
    interface: "net1",
    mac: FIRST,
    message: REFUSAL,
    dryRun: false,
    replica: "one",
  },
  {
    id: "two-1",
    at: AGO(7_300),
    first: AGO(7_300),
    count: 1,
    code: "MACPOOL_FULL",
    namespace: "lab",
    kind: "Pod",
    name: "probe-*",
    message: 'MACPool lab has no free address for interface "net1". Add a range to spec.ranges.',
    dryRun: true,
    replica: "two",
  },
]);
