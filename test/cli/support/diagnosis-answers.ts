/** What the pool of the golden outputs answers about what is wrong, checked against the schemas of inspection. */
import * as z from "zod";
import { describeHostConflict, HOST_CONFLICT_ADVICE } from "../../../src/api/host-interfaces.ts";
import { SEEN_ELSEWHERE_ADVICE } from "../../../src/api/seen-elsewhere.ts";
import {
  checkViewSchema,
  collisionViewSchema,
  consistencyViewSchema,
  namespaceViewSchema,
  ownerHistoryViewSchema,
} from "../../../src/mac-pool/inspection/rest/views.ts";
import { AGO, FIRST, owner, REFUSAL } from "./answers.ts";

export const collisions = z.array(collisionViewSchema).parse([
  {
    mac: "02:00:00:00:00:01",
    parties: [
      {
        kind: "VirtualMachineInstance",
        namespace: "default",
        name: "web",
        interface: "net2",
        network: "multus br1-net",
        node: "node-a",
        since: AGO(120),
      },
      {
        kind: "VirtualMachineInstance",
        namespace: "lab",
        name: "a-machine-with-a-name-that-is-longer-than-most",
        node: "node-b",
        since: AGO(3 * 86_400),
        isManaged: false,
      },
    ],
    elsewhere: 1,
    advice: "Stop all but one of them, or change their addresses.",
  },
  {
    mac: "02:00:00:00:00:02",
    parties: [{ kind: "Pod", namespace: "default", name: "db", interface: "net1", node: "node-a", since: AGO(60) }],
    stations: [
      { node: "node-a", bridge: "br1", uplink: "eno2", vlan: 100, lastSeen: AGO(30), lastFlap: "2026-11-21T10:00:00Z" },
    ],
    elsewhere: 0,
    advice: SEEN_ELSEWHERE_ADVICE,
  },
  {
    mac: "02:00:00:00:00:03",
    parties: [
      {
        kind: "VirtualMachineInstance",
        namespace: "default",
        name: "files",
        interface: "net1",
        network: "multus br1-net",
        node: "node-a",
        since: AGO(120),
      },
      {
        kind: "Pod",
        namespace: "lab",
        name: "t4",
        interface: "net1",
        network: "multus lab/blue",
        node: "node-b",
        saidBy: "network-status",
      },
    ],
    elsewhere: 0,
    isSaid: true,
    advice: "Stop all but one of them, or change their addresses.",
  },
]);

export const histories = z.array(ownerHistoryViewSchema).parse([
  {
    kind: "VirtualMachine",
    namespace: "default",
    name: "web",
    exists: true,
    node: "node-a",
    pod: "virt-launcher-web-x7k2p",
    interfaces: [
      {
        interface: "net1",
        mac: FIRST,
        claim: "mac-02-5d-1c-00-00-a3",
        phase: "Bound",
        origin: "automatic",
        network: "multus br1-net",
        since: AGO(120),
      },
      { interface: "net2", mac: "02:00:00:00:00:01", hostAddress: "interface eno1 of node node-a" },
    ],
    history: [
      {
        at: AGO(118),
        what: "bound",
        mac: FIRST,
        interface: "net1",
        message: "02:5d:1c:00:00:a3 is bound to interface net1",
      },
      {
        at: AGO(120),
        what: "allocated",
        mac: FIRST,
        interface: "net1",
        message: "02:5d:1c:00:00:a3 from pool default",
      },
      { at: AGO(121), what: "created", message: "VirtualMachine default/web was created" },
    ],
    partial: ["two"],
  },
  {
    kind: "VirtualMachine",
    namespace: "default",
    name: "web-3",
    exists: false,
    interfaces: [],
    history: [
      {
        at: AGO(40),
        what: "refused",
        code: "MACPOOL_CONFLICT",
        mac: FIRST,
        interface: "net1",
        message: REFUSAL,
      },
    ],
    partial: [],
  },
]);

export const consistency = consistencyViewSchema.parse({
  findings: [
    {
      code: "CLAIM_WAITS",
      mac: "02:5d:1c:00:01:50",
      owner: { kind: "VirtualMachine", namespace: "default", name: "web-9" },
      since: AGO(300),
      message: "The claim of 02:5d:1c:00:01:50 still waits for its object. Its deadline was 2026-11-21T09:11:03Z.",
      advice: "Nothing, if the leader works: it frees the address. Look at the leader's log if this stays.",
    },
    { code: "POOL_FULL", pool: "lab", message: "No address is free.", advice: "Add a range to spec.ranges." },
    {
      code: "HOST_CONFLICT",
      mac: "02:00:00:00:00:01",
      owner: { kind: "VirtualMachine", namespace: "default", name: "web" },
      message: describeHostConflict("02:00:00:00:00:01", "interface eno1 of node node-a"),
      advice: HOST_CONFLICT_ADVICE,
    },
  ],
  total: 3,
  adoption: { ended: true, message: "every object has its claims" },
  leader: { identity: "one", since: AGO(7_200), renewed: AGO(1) },
  replicas: [
    { name: "one", answers: true },
    { name: "two", answers: false },
  ],
  caches: [{ kind: "MACClaim", objects: 3 }],
});

export const healthy = consistencyViewSchema.parse({
  ...consistency,
  findings: [],
  total: 0,
  replicas: [{ name: "one", answers: true }],
});

export const namespaces = z.array(namespaceViewSchema).parse([
  {
    name: "default",
    vms: true,
    pods: false,
    objectsMayOptOut: false,
    because: {
      vms: "no label opts out",
      pods: "no label mutatepods.kubemacpool.io=allocate",
      objects: "no label macpool.network.kubevirt.io/object-opt-out",
    },
    pool: "default",
    claims: 2,
  },
  {
    name: "lab",
    vms: true,
    pods: true,
    objectsMayOptOut: true,
    because: {
      vms: "no label opts out",
      pods: "label mutatepods.kubemacpool.io=allocate",
      objects: "objectOptOut of MACPool lab is Allow",
    },
    pool: "lab",
    claims: 11,
    limit: 12,
  },
]);

export const checks = z.array(checkViewSchema).parse([
  {
    mac: "02:5d:1c:00:00:ff",
    namespace: "default",
    accepted: true,
    message: "The address is free.",
    pool: "default",
    inRange: true,
    holders: [],
    elsewhere: 0,
  },
  {
    mac: FIRST,
    namespace: "default",
    accepted: false,
    code: "MACPOOL_CONFLICT",
    message: REFUSAL,
    pool: "default",
    inRange: true,
    holders: [owner],
    elsewhere: 1,
    hostAddress: "bridge br1 of node-a",
  },
]);
