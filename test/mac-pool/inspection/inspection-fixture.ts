import { Registry } from "prom-client";
import { claimName, formatMac, type Mac } from "../../../src/api/mac.ts";
import type { ClaimOrigin, ClaimOwner, ClaimPhase, MACClaim } from "../../../src/api/mac-claim.ts";
import type { MacPoolSpec } from "../../../src/api/mac-pool.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { type Clock, systemClock } from "../../../src/kube/clock.ts";
import { at } from "../../../src/kube/json-path.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { newClaim } from "../../../src/mac-pool/claims/claim.ts";
import { Caches } from "../../../src/mac-pool/cluster/caches.ts";
import { DenialLog } from "../../../src/mac-pool/inspection/queries/denials.ts";
import { type ClaimQuestion, Inspector } from "../../../src/mac-pool/inspection/queries/inspector.ts";
import type { Scope } from "../../../src/mac-pool/inspection/queries/scope.ts";
import type { LazyLists } from "../../../src/mac-pool/inspection/rest/answer-body.ts";
import type { Answers } from "../../../src/mac-pool/inspection/rest/replicas.ts";
import type { ClaimView, ListView } from "../../../src/mac-pool/inspection/rest/views.ts";
import { machineMacs } from "../../../src/mac-pool/objects/listed-macs.ts";
import { ListedObjects } from "./queries/listed-objects.ts";

export const FIRST = 0x02_5d_1c_00_00_00 as Mac;
export const SINCE = "2026-01-01T00:00:00.000Z";

export interface InspectionFixtureOptions {
  readonly pools?: Readonly<Record<string, MacPoolSpec>>;
  /** What the leader says of adoption in the status of each pool; nothing unless given. */
  readonly adopted?: { readonly status: "True" | "False"; readonly message: string };
  /** Names, or names with their labels. */
  readonly namespaces?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly claims?: readonly MACClaim[];
  readonly machines?: readonly KubeObject[];
  readonly instances?: readonly KubeObject[];
  readonly pods?: readonly KubeObject[];
  /** What nodes report of their own interfaces. */
  readonly nodeMacs?: readonly KubeObject[];
  /** Without them, all nodes take VMs and publish what they report. */
  readonly nodes?: readonly KubeObject[];
  /** NetworkAttachmentDefinitions. */
  readonly nads?: readonly KubeObject[];
  readonly clock?: Clock;
  readonly others?: () => Answers;
}

/** Inspection over caches that a test fills, without a server. */
export class InspectionFixture implements AsyncDisposable {
  readonly caches: Caches;
  readonly inspector: Inspector;
  readonly denials: DenialLog;
  readonly objects: ListedObjects;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  private constructor(options: InspectionFixtureOptions) {
    const { pools = {}, namespaces = { default: {} }, clock = systemClock, adopted } = options;
    const conditions = adopted === undefined ? [] : [{ type: "Adopted", ...adopted }];
    const status = { conditions };
    this.objects = new ListedObjects({
      macpools: Object.entries(pools).map(([name, spec]) => ({ metadata: { name, uid: name }, spec, status })),
      macclaims: options.claims ?? [],
      namespaces: Object.entries(namespaces).map(([name, labels]) => ({ metadata: { name, uid: name, labels } })),
      virtualmachines: options.machines ?? [],
      virtualmachineinstances: options.instances ?? [],
      pods: options.pods ?? [],
      nodemacs: options.nodeMacs ?? [],
      nodes: options.nodes ?? [],
      "network-attachment-definitions": options.nads ?? [],
    });
    const client = this.objects.asKubeClient();
    const metrics = new Registry();
    this.caches = new Caches({ client, log: silentLog, metrics, clock, excludedNamespaces: ["kube-system"] });
    this.denials = new DenialLog("one", clock);
    this.inspector = new Inspector({
      caches: this.caches,
      clock,
      denials: this.denials,
      replicas: { ask: async () => options.others?.() ?? { answers: [], missing: [] } },
      leader: async () => ({ identity: "one" }),
      self: "one",
      boot: "b0",
    });
  }

  static async start(options: InspectionFixtureOptions = {}): Promise<InspectionFixture> {
    const fixture = new InspectionFixture(options);
    fixture.#running = fixture.caches.run(fixture.#stop.signal);
    await fixture.caches.whenSynced(fixture.#stop.signal);
    fixture.inspector.begin();
    return fixture;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running?.catch(() => {});
  }
}

/** An answer as a reader gets it. */
export function readAnswer<A extends object>(answer: LazyLists<A>): A {
  const whole = (_: string, value: unknown): unknown => (value instanceof Iterator ? [...value] : value);
  return JSON.parse(JSON.stringify(answer, whole)) as A;
}

export function pageOf(inspector: Inspector, question: ClaimQuestion, scope: Scope): ListView<ClaimView> {
  return readAnswer<ListView<ClaimView>>(inspector.claimPage(question, scope));
}

export function owner(namespace: string, name: string, more: Partial<ClaimOwner> = {}): ClaimOwner {
  const uid = `uid-${namespace}-${name}`;
  return { kind: "VirtualMachine", namespace, name, uid, interface: "a", since: SINCE, ...more };
}

export function claimOf(
  mac: Mac,
  owners: readonly ClaimOwner[],
  { phase = "Allocated", origin = "automatic" }: { readonly phase?: ClaimPhase; readonly origin?: ClaimOrigin } = {},
): MACClaim {
  const claim = newClaim(mac, { pool: "default", origin }, { phase, owners: [...owners] });
  const metadata = { ...claim.metadata, uid: claimName(mac), creationTimestamp: SINCE, resourceVersion: "1" };
  return { ...claim, metadata };
}

/** With an address on each of its interfaces, which are a, b and so on. */
export function vmOf(namespace: string, name: string, macs: readonly Mac[]): KubeObject {
  const nics = macs.map((mac, index) => ({
    name: String.fromCharCode(97 + index),
    macAddress: formatMac(mac),
    bridge: {},
  }));
  const networks = nics.map(({ name: nic }) => ({ name: nic, multus: { networkName: "br1-net" } }));
  const metadata = { name, namespace, uid: `uid-${namespace}-${name}`, creationTimestamp: SINCE };
  const spec = { domain: { devices: { interfaces: nics } }, networks };
  return { metadata, spec: { runStrategy: "Always", template: { spec } } } as KubeObject;
}

/** The report of a node whose interfaces have the addresses. */
export function nodeMacsOf(name: string, macs: readonly Mac[]): KubeObject {
  const addresses = macs.map((mac, index) => ({ mac: formatMac(mac), interface: `eth${index}` }));
  const uid = `node-${name}`;
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
  return { metadata: { name, uid, ownerReferences }, addresses } as KubeObject;
}

/** The instance of that VM, which runs on a node. */
export function instanceOf(machine: KubeObject, node: string): KubeObject {
  const { namespace = "", name = "", uid = "" } = machine.metadata;
  const interfaces = machineMacs(machine).map(({ mac, owner }) => ({ name: owner.interface, mac: formatMac(mac) }));
  const ownerReferences = [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid }];
  const metadata = { name, namespace, uid: `vmi-${namespace}-${name}`, ownerReferences };
  const spec = at(machine, "spec", "template", "spec");
  return { metadata, spec, status: { phase: "Running", nodeName: node, interfaces } } as KubeObject;
}
