import type { Browser, BrowserContextOptions } from "playwright-core";
import { DEFAULT_MAC_POOL } from "../../src/api/names.ts";
import type { NodeBridge, NodeStation } from "../../src/api/node-macs.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { guestSpec, instanceOf, machine, type TestInterface } from "../mac-pool/machines.ts";
import { PoolFixture } from "../mac-pool/pool-fixture.ts";
import { viewerToken } from "../mac-pool/viewer-token.ts";
import { eventually } from "../support/eventually.ts";
import { launchChromium, openPage, show, type WatchedPage } from "./chromium.ts";

export const RANGE = { start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" };

/** A replica on a real API server that serves the page, a browser, and readers with and without rights. */
export class PageHarness implements AsyncDisposable {
  readonly pool: PoolFixture;
  readonly #browser: Browser;

  private constructor(pool: PoolFixture, browser: Browser) {
    this.pool = pool;
    this.#browser = browser;
  }

  static async start(): Promise<PageHarness> {
    const pool = await PoolFixture.start();
    await pool.startReplica("one");
    await pool.createPool("default", { ranges: [RANGE], quarantineSeconds: 3_600 });
    await pool.registerWebhooks();
    return new PageHarness(pool, await launchChromium());
  }

  get url(): string {
    return `${this.pool.inspectionUrl("one")}/`;
  }

  /** Token of a new account that may read everything, or what is in its namespace. */
  reader(name: string, namespace?: string): Promise<string> {
    return viewerToken(this.pool, name, namespace === undefined ? "cluster" : { namespace });
  }

  open(options?: BrowserContextOptions, url = this.url): Promise<WatchedPage> {
    return openPage(this.#browser, url, options);
  }

  /** Opens the page and gives it the token, as a reader does. */
  async openAs(
    token: string,
    fragment = "#/overview",
    options?: BrowserContextOptions,
    url?: string,
  ): Promise<WatchedPage> {
    const opened = await this.open(options, url);
    await opened.page.getByLabel("Bearer token").fill(token);
    await opened.page.getByRole("button", { name: "Sign in" }).click();
    await opened.page.getByRole("navigation").waitFor();
    await show(opened.page, fragment);
    return opened;
  }

  async createMachine(name: string, interfaces: readonly TestInterface[], namespace = "default"): Promise<void> {
    await this.pool.admin.create(KINDS.virtualMachines, machine(name, namespace, interfaces));
  }

  /** Twelve addresses in use, one in quarantine, one outside the range; one refusal; two running VMs with one address. */
  async fill(): Promise<void> {
    const { admin } = this.pool;
    for (let vm = 0; vm < 5; vm++) await this.createMachine(`web-${vm}`, [{ name: "net1" }, { name: "net2" }]);
    await this.createMachine("legacy", [{ name: "net1", macAddress: "02:00:00:00:00:01" }]);
    await this.createMachine("gone", [{ name: "net1", macAddress: "02:5d:1c:00:00:a3" }]);
    await eventually("all claims are bound", async () => {
      const { used, outOfRange, pending } = (await admin.get(KINDS.pools, { name: DEFAULT_MAC_POOL })).status ?? {};
      return used === 11 && outOfRange === 1 && pending === 0;
    });
    await admin.delete(KINDS.virtualMachines, { name: "gone", namespace: "default" });
    await this.refuse("greedy", "02:00:00:00:00:01");
  }

  /** A node whose interfaces have the addresses, with bridges. */
  async reportNode(
    name: string,
    macs: readonly string[],
    bridges: readonly NodeBridge[] = [],
    stations: readonly NodeStation[] = [],
  ): Promise<void> {
    const { admin } = this.pool;
    const { metadata } = await admin.create(RESOURCES.nodes, { metadata: { name } });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: metadata.uid ?? "" }];
    const addresses = macs.map((mac, index) => ({ mac, interface: `eno${index}` }));
    await admin.create(KINDS.nodeMacs, {
      metadata: { name, ownerReferences },
      addresses,
      ...(bridges.length === 0 ? {} : { bridges }),
      ...(stations.length === 0 ? {} : { stations }),
    });
  }

  /** A VM that asks for an address that another one has. */
  async refuse(name: string, macAddress: string): Promise<void> {
    const refusal = await this.createMachine(name, [{ name: "net1", macAddress }]).then(
      () => undefined,
      (error: Error) => error,
    );
    if (refusal === undefined) throw new Error(`VM ${name} was admitted with ${macAddress}`);
  }

  /** A VM runs with the address, and the guest of another one gives itself the same. */
  async collide(mac: string): Promise<void> {
    const { admin } = this.pool;
    const vm = machine("twin-a", "default", [{ name: "net1", macAddress: mac }]);
    await this.#report(instanceOf(await admin.create(KINDS.virtualMachines, vm)), mac);
    await this.runGuest("twin-b", mac);
  }

  /** Ends what `collide` began. */
  async separate(): Promise<void> {
    await this.stopGuest("twin-b");
  }

  /** A VMI without a VM runs, and its guest gives itself the address. */
  async runGuest(name: string, mac: string, namespace = "default"): Promise<void> {
    const spec = guestSpec([{ name: "net1" }]);
    await this.#report({ metadata: { name, namespace }, spec } as KubeObject, mac);
  }

  async stopGuest(name: string, namespace = "default"): Promise<void> {
    await this.pool.admin.delete(KINDS.instances, { name, namespace });
  }

  async #report(instance: KubeObject, mac: string): Promise<void> {
    const { admin } = this.pool;
    const { name = "", namespace = "" } = (await admin.create(KINDS.instances, instance)).metadata;
    const status = { phase: "Running", nodeName: "node-a", interfaces: [{ name: "net1", mac }] };
    const body = { status };
    await admin.patch(KINDS.instances, { name, namespace }, { type: "merge", body }, { subresource: "status" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.pool[Symbol.asyncDispose]();
  }
}
