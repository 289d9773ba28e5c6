import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOL_INSPECTION_PORT_NAME, MAC_POOL_SERVICE } from "../../src/api/names.ts";
import { buildCli } from "../../src/cli/build.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { exposeInspection, letUseProxy } from "../cli/support/pool-service.ts";
import { ensureBinaries } from "../cluster/control-plane/binaries.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { bridgeOf, nadOf } from "../mac-pool/inspection/networks.ts";
import { POOL_NAMESPACE } from "../mac-pool/pool-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { CHROMIUM, overflow, seriousFaults, show, takePicture, type WatchedPage } from "./chromium.ts";
import { PageHarness } from "./page-harness.ts";

const PROXY = `api/v1/namespaces/${POOL_NAMESPACE}/services/https:${MAC_POOL_SERVICE}:${MAC_POOL_INSPECTION_PORT_NAME}/proxy/`;
describe.skipIf(CHROMIUM === undefined)("the page in a browser, for those who come in", () => {
  let harness: PageHarness;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    harness = await PageHarness.start();
    await harness.fill();
    await exposeInspection(harness.pool, "one");
  });
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    await harness?.[Symbol.asyncDispose]();
  });

  /** Starts a program and resolves with the first address that it prints. */
  async function addressFrom(program: string, args: readonly string[], kubeconfig: string): Promise<string> {
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    for await (const line of createInterface({ input: child.stdout })) {
      const address = /(?:http:\/\/)?127\.0\.0\.1:\d+\S*/.exec(line)?.[0];
      if (address !== undefined) return address.startsWith("http") ? address : `http://${address}/`;
    }
    throw new Error(`${program} ${args.join(" ")} ended without an address`);
  }

  /** Lists, searches, follows, and shows at once that a VM of the given name was refused. */
  async function seesAll({ page, faults }: WatchedPage, refused: string): Promise<void> {
    await page.getByText("16,777,216 used").waitFor();
    await page.getByText("Live").waitFor();
    await show(page, "#/addresses?search=legacy");
    await page.getByRole("link", { name: "default/legacy" }).waitFor();
    await show(page, "#/refusals");
    await harness.refuse(refused, "02:00:00:00:00:01");
    await page.getByText(`default/${refused}`).waitFor();
    expect(faults).toEqual([]);
  }

  it("shows nothing without a token, says how to get in, and forgets the token with a reload", async () => {
    await using opened = await harness.open();
    const { page } = opened;
    await page.getByText("kubectl macpool ui").waitFor();
    await takePicture(page, "sign-in");
    await page.getByLabel("Bearer token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The pool does not accept this token.").waitFor();
    await page.getByLabel("Bearer token").fill(await harness.reader("comer"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("16,777,216 used").waitFor();
    expect(await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")).toBe(0);
    await page.reload();
    await page.getByLabel("Bearer token").waitFor();
    expect(opened.faults).toEqual([]);
  });

  it.each([
    { look: "light", options: {} },
    { look: "dark", options: { colorScheme: "dark" } },
    { look: "phone", options: { viewport: { width: 360, height: 740 } } },
  ] as const)("asks for a token in a form that everybody can use: $look", async ({ look, options }) => {
    await using opened = await harness.open(options);
    const { page } = opened;
    await page.getByLabel("Bearer token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The pool does not accept this token.").waitFor();
    await takePicture(page, `sign-in-${look}`);
    expect(await seriousFaults(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
  });

  it("lets a reader with rights in one namespace name it, and shows what is in it", async () => {
    await harness.pool.admin.create(RESOURCES.namespaces, { metadata: { name: "tenant" } });
    await harness.createMachine("mine", [{ name: "net1" }], "tenant");
    const token = await harness.reader("tenant-reader", "tenant");
    await using opened = await harness.openAs(token, "#/addresses");
    const { page } = opened;
    await page.getByText("You may not read namespace default.").waitFor();
    expect(await page.locator(".notice").count()).toBe(1);
    await page.getByPlaceholder("namespace", { exact: true }).first().fill("tenant");
    await page.getByRole("button", { name: "Show", exact: true }).first().click();
    await page.getByRole("link", { name: "tenant/mine" }).waitFor();
    await page.getByText("1 address", { exact: true }).waitFor();
    await takePicture(page, "namespace-reader");
    await show(page, "#/overview");
    await page.getByText("Live").waitFor();
    await page.getByText("You see namespace tenant: its addresses").waitFor();
    expect(await page.locator(".notice").count()).toBe(1);
    await takePicture(page, "namespace-reader-overview");
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.getByText("default/legacy").count()).toBe(0);
    expect(await page.getByRole("navigation").getByRole("link", { name: "Map" }).count()).toBe(0);
    await show(page, "#/map/default");
    await page.getByText("You see namespace tenant: its addresses").waitFor();
    await page.getByText("as a ClusterRoleBinding to kubemacpool-view gives them").waitFor();
    await takePicture(page, "namespace-reader-map");
    await show(page, "#/consistency");
    await page.getByText("Everything agrees.").waitFor();
    expect(await page.getByText("State of the pool").count()).toBe(0);
    await show(page, "#/networks");
    await page.getByText("There is no network in namespace tenant.").waitFor();
    await show(page, "#/address/02:00:00:00:00:01");
    await page.getByText("No claim of namespace tenant has this address.").waitFor();
    await page.getByRole("link", { name: "Would it be accepted?" }).click();
    await page.getByText("It would be refused").waitFor();
    await page.getByText("Holders in namespaces that you may not see: 1.").waitFor();
    expect(await page.locator(".notice.bad").count()).toBe(0);
    await show(page, "#/owner/VirtualMachine/default/legacy");
    await page
      .getByText("You may not read namespace default.")
      .or(page.getByText("may not get macclaims"))
      .first()
      .waitFor();
    expect(await page.locator(".notice.bad").count()).toBe(0);
    expect(await page.getByText("02:00:00:00:00:01").count()).toBe(0);
  });

  it.each([
    { look: "light", options: { viewport: { width: 1280, height: 900 } } },
    { look: "phone-dark", options: { viewport: { width: 390, height: 780 }, colorScheme: "dark" } },
  ] as const)("starts in the namespace of the kubeconfig where rights end there: $look", async ({ look, options }) => {
    const { controlPlane, admin } = harness.pool;
    const namespace = `own-${look}`;
    await admin.create(RESOURCES.namespaces, { metadata: { name: namespace } });
    await harness.createMachine("mine", [{ name: "net1" }], namespace);
    const kubeconfig = join(controlPlane.directory, `${namespace}.kubeconfig`);
    const token = await harness.reader(`${namespace}-reader`, namespace);
    await letUseProxy(harness.pool, `${namespace}-reader`);
    await writeFile(kubeconfig, controlPlane.tokenKubeconfig(token), { mode: 0o600 });
    const ui = [await buildCli(), "ui", "--no-browser", "-n", namespace, "--pool-namespace", POOL_NAMESPACE];
    await using opened = await harness.open(options, await addressFrom(process.execPath, ui, kubeconfig));
    const { page } = opened;
    await page.getByText(`You see namespace ${namespace}: its addresses`).waitFor();
    await page.getByText("Live").waitFor();
    expect(await page.locator(".notice").count()).toBe(1);
    await takePicture(page, `own-namespace-${look}`);
    expect(await overflow(page)).toBe(0);
    await show(page, "#/addresses");
    await page.getByRole("link", { name: `${namespace}/mine` }).waitFor();
    expect(await page.getByText("default/").count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  it("shows a reader with rights in one namespace its networks, their bridges, and no others", async () => {
    const { admin } = harness.pool;
    await admin.create(RESOURCES.crds, nadCrd as never);
    await admin.create(RESOURCES.namespaces, { metadata: { name: "lab" } });
    await harness.reportNode("node-a", [], [bridgeOf("br1"), bridgeOf("br2")]);
    const nads = [nadOf("lab", "mine"), nadOf("default", "theirs"), nadOf("default", "beside", { bridge: "br2" })];
    for (const nad of nads) {
      await eventually("the API server knows the kind", () => admin.create(KINDS.networks, nad));
    }
    const token = await harness.reader("lab-reader", "lab");
    await using opened = await harness.openAs(token, "#/networks");
    const { page } = opened;
    await page.getByText("You may not read namespace default.").waitFor();
    expect(await page.locator(".notice").count()).toBe(1);
    await page.getByPlaceholder("namespace", { exact: true }).first().fill("lab");
    await page.getByRole("button", { name: "Show", exact: true }).first().click();
    await page.getByRole("rowheader", { name: "lab/mine" }).waitFor();
    expect(await page.getByRole("rowheader").allInnerTexts()).toEqual(["br1 on the only node", "lab/mine"]);
    await takePicture(page, "namespace-reader-networks");
    await show(page, "#/network/lab/mine");
    await page.getByText("Nobody uses it.").waitFor();
    expect(await page.locator(".notice").count()).toBe(0);
    await using all = await harness.openAs(await harness.reader("all-networks"), "#/networks");
    await all.page.getByRole("rowheader", { name: "default/beside" }).waitFor();
    expect([...opened.faults, ...all.faults]).toEqual([]);
  });

  it("works behind the API server's service proxy", async () => {
    const { kubectl } = await ensureBinaries();
    const proxy = await addressFrom(kubectl, ["proxy", "--port=0"], harness.pool.controlPlane.kubeconfig);
    const token = await harness.reader("through-proxy");
    await using opened = await harness.openAs(token, "#/overview", {}, `${proxy}${PROXY}`);
    await seesAll(opened, "seen-through-proxy");
  });

  it("needs no token behind kubectl macpool ui", async () => {
    const { controlPlane } = harness.pool;
    const kubeconfig = join(controlPlane.directory, "through-ui.kubeconfig");
    await writeFile(kubeconfig, controlPlane.tokenKubeconfig(await harness.reader("through-ui")), { mode: 0o600 });
    const ui = [await buildCli(), "ui", "--no-browser", "--pool-namespace", POOL_NAMESPACE];
    const address = await addressFrom(process.execPath, ui, kubeconfig);
    await using opened = await harness.open({}, address);
    await seesAll(opened, "seen-through-ui");
    // With the rights of this reader, who sees claims only.
    await show(opened.page, "#/owner/VirtualMachine/default/legacy");
    await opened.page.getByText("02:00:00:00:00:01, explicit, Bound").waitFor();
    await opened.page.getByText("does not exist").first().waitFor();
    await opened.page.getByRole("button", { name: "Ask again" }).click();
    await opened.page.getByText("02:00:00:00:00:01, explicit, Bound").waitFor();
    await takePicture(opened.page, "ways");
    expect(await seriousFaults(opened.page)).toEqual([]);
    expect(opened.faults).toEqual([]);
    children.at(-1)?.kill("SIGTERM");
    await once(children.at(-1) as ChildProcess, "close");
  });
});
