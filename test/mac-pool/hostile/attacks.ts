import { share } from "../../support/share.ts";
import { machine } from "../machines.ts";
import type { Attacker } from "./attacker.ts";

const MIB = 1024 * 1024;
const NAMESPACES = share(1_000);
const CONNECTIONS_PER_SECOND = 1_000;

export interface Target {
  readonly webhooks: number;
  readonly inspection: number;
}

export interface Attack {
  readonly what: string;
  /** Answers that it may get. */
  readonly answers: readonly string[];
  run(attacker: Attacker, target: Target): Promise<void>;
}

export const floodedNamespaces = (): string[] => Array.from({ length: NAMESPACES }, (_, i) => `flooded-${i}`);

/** The request of a review of a VM that is never created. */
export function forgedRequest(namespace: string, name: string, interfaces: number) {
  const nics = Array.from({ length: interfaces }, (_, i) => ({ name: `n${i}` }));
  return {
    uid: name,
    kind: { group: "kubevirt.io", version: "v1", kind: "VirtualMachine" },
    resource: { group: "kubevirt.io", version: "v1", resource: "virtualmachines" },
    operation: "CREATE",
    name,
    namespace,
    object: machine(name, namespace, nics),
    userInfo: { username: "admin", groups: ["system:masters"] },
  };
}

export function forgedReview(namespace: string, name: string, interfaces: number): string {
  return post("/mutate-virtualmachines", forgedRequest(namespace, name, interfaces));
}

/** A review as it is sent. */
export function post(path: string, request: object): string {
  const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
  const head = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return `POST ${path}?timeout=10s HTTP/1.1\r\n${head}\r\n\r\n${body}`;
}

const inspect = (token: string): string =>
  `GET /api/v1/claims HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`;

export const ATTACKS: readonly Attack[] = [
  {
    what: "forged reviews in namespaces that do not exist",
    answers: ["200"],
    run: (attacker, { webhooks }) =>
      attacker.requests(webhooks, 200, 16, (i) => forgedReview(`nowhere-${i}`, "forged", 2)),
  },
  {
    what: "forged reviews in many namespaces that exist",
    answers: ["200"],
    run: (attacker, { webhooks }) =>
      attacker.requests(webhooks, NAMESPACES, 16, (i) => forgedReview(`flooded-${i % NAMESPACES}`, `forged-${i}`, 1)),
  },
  {
    what: "bodies that are too long",
    answers: ["413"],
    run: async (attacker, { webhooks }) => {
      const long = `POST /mutate-pods HTTP/1.1\r\nhost: x\r\ncontent-length: ${9 * MIB}\r\n\r\n`;
      await attacker.requests(webhooks, 50, 16, () => long);
      const chunk = `${MIB.toString(16)}\r\n${" ".repeat(MIB)}\r\n`;
      const chunked = `POST /mutate-pods HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(9)}`;
      await attacker.requests(webhooks, 2, 2, () => chunked);
    },
  },
  {
    what: "bodies that never end",
    answers: ["408", "503", "closed"],
    run: async (attacker, { webhooks }) => {
      await attacker.unfinished(webhooks, 50, MIB, 1);
      await attacker.unfinished(webhooks, 20, 8 * MIB, 7 * MIB);
    },
  },
  {
    what: "connections without a request, 1,000 a second",
    answers: [],
    run: async (attacker, { webhooks, inspection }) => {
      await attacker.idle(webhooks, 300, CONNECTIONS_PER_SECOND);
      await attacker.idle(inspection, 300, CONNECTIONS_PER_SECOND);
    },
  },
  {
    what: "random tokens",
    answers: ["401", "503", "closed"],
    run: (attacker, { inspection }) => attacker.requests(inspection, 200, 64, (i) => inspect(`${i}-${Math.random()}`)),
  },
  {
    what: "requests without a token, and for what is not there",
    answers: ["401", "404", "503", "closed"],
    run: async (attacker, { webhooks, inspection }) => {
      await attacker.requests(inspection, 100, 64, () => "GET /api/v1/pools HTTP/1.1\r\nhost: x\r\n\r\n");
      await attacker.requests(webhooks, 100, 64, () => "GET /api/v1/pools HTTP/1.1\r\nhost: x\r\n\r\n");
    },
  },
];
