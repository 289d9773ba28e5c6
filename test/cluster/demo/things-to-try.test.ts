import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runCommand } from "../command.ts";
import type { DemoCluster } from "./demo-cluster.ts";
import type { InstalledDemo } from "./installed-demo.ts";
import { NODE_A } from "./objects.ts";
import { offerPage } from "./page.ts";
import { Screen } from "./screen.ts";
import { invite, putBack } from "./things-to-try.ts";

const MAC = "02:5d:1c:00:00:07";
const PAGE = "http://127.0.0.1:40123/secret/";

/** A cluster that does at once what it is told, and remembers it. */
class ToldCluster {
  readonly commands: string[] = [];
  readonly demo: DemoCluster;
  readonly tools: string;
  #isAvailable = false;

  private constructor(tools: string) {
    this.tools = tools;
    const link = { ifname: "net1", ifindex: 2, link_index: 9, address: MAC };
    const hostLink = { ifname: "veth9", ifindex: 9, address: "02:00:00:00:00:01", master: "br1" };
    const cluster = {
      kubeconfig: join(tools, "admin.kubeconfig"),
      kubectl: (args: readonly string[], { stdin = "" } = {}) => this.#kubectl(args, stdin),
      execInPod: async () => ({ code: 0, stdout: JSON.stringify([link]), stderr: "" }),
      exec: async () => ({ code: 0, stdout: JSON.stringify([hostLink]), stderr: "" }),
    };
    const vm = {
      spec: { template: { spec: { domain: { devices: { interfaces: [{ name: "net1", macAddress: MAC }] } } } } },
    };
    const client = {
      get: async () => vm,
      list: async () => ({ items: [{ metadata: { name: "virt-launcher" } }] }),
      watch: ({ kind }: { readonly kind: string }) => this.#watch(kind),
    };
    this.demo = {
      cluster,
      client,
      macpool: async () => ({ code: 0, stdout: "", stderr: "" }),
      note() {},
    } as unknown as DemoCluster;
  }

  static async create(): Promise<ToldCluster> {
    const tools = await mkdtemp(join(tmpdir(), "encore-"));
    onTestFinished(() => rm(tools, { recursive: true, force: true }));
    await writeFile(join(tools, "admin.kubeconfig"), "an administrator's");
    return new ToldCluster(tools);
  }

  get opened(): InstalledDemo {
    return { demo: this.demo, tools: this.tools, timings: {}, [Symbol.asyncDispose]: async () => {} };
  }

  async #kubectl(args: readonly string[], stdin: string) {
    const names = [...stdin.matchAll(/"kind":"(\w+)".*?"name":"([\w-]+)"/g)].map(([, kind, name]) => `${kind}/${name}`);
    this.commands.push([...args.filter((arg) => !arg.startsWith("--kubeconfig")), ...names].join(" "));
    if (names.some((name) => name.startsWith("VirtualMachine")) && !this.#isAvailable) {
      return { code: 1, stdout: "", stderr: "no webhook answers yet" };
    }
    return { code: 0, stdout: args[1] === "token" ? "a-token\n" : "", stderr: "" };
  }

  async *#watch(kind: string) {
    if (kind === "NetworkAddonsConfig") {
      yield { type: "ADDED", object: { status: { conditions: [{ type: "Available", status: "False" }] } } };
      this.#isAvailable = true;
      yield { type: "MODIFIED", object: { status: { conditions: [{ type: "Available", status: "True" }] } } };
    } else {
      const status = { phase: "Running", nodeName: NODE_A, interfaces: [{ mac: MAC, podInterfaceName: "net1" }] };
      yield { type: "ADDED", object: { metadata: { uid: "vmi" }, status: { phase: "Scheduling" } } };
      yield { type: "MODIFIED", object: { metadata: { uid: "vmi" }, status } };
    }
  }
}

describe("the end of the demo on a terminal", () => {
  it("puts the addons back, and VMs and networks when they are available", async () => {
    const told = await ToldCluster.create();
    await putBack(told.demo, AbortSignal.timeout(10_000));
    expect(told.commands).toEqual([
      "apply --server-side -f - NetworkAddonsConfig/cluster NetworkAttachmentDefinition/br1-net",
      "apply --server-side -f - VirtualMachine/web VirtualMachine/web-2",
      "apply --server-side -f - Namespace/tenant-a Namespace/tenant-b Namespace/tenant-lab Node/node-c",
      "get node/node-c -o jsonpath={.metadata.uid}",
      "apply --server-side -f - NodeMACs/node-c Node/node-c",
      "apply --server-side -f - NetworkAttachmentDefinition/vlan100 NetworkAttachmentDefinition/storage NetworkAttachmentDefinition/noann NetworkAttachmentDefinition/wrong NetworkAttachmentDefinition/br9",
      "apply --server-side -f - VirtualMachine/shop VirtualMachine/stray",
    ]);
  });

  it("offers the page as kubectl macpool ui serves it", async () => {
    const told = await ToldCluster.create();
    const said = join(told.tools, "said");
    const program = `require("fs").writeFileSync(${JSON.stringify(said)}, [process.env.KUBECONFIG, ...process.argv.slice(2)].join(" "));
      console.log("Serving the page at ${PAGE}"); setInterval(() => {}, 1_000);`;
    await writeFile(join(told.tools, "kubectl-macpool"), program);
    const page = await offerPage(told.opened, AbortSignal.timeout(20_000));
    expect(page.url).toBe(PAGE);
    expect(await readFile(said, "utf8")).toBe(`${told.demo.cluster.kubeconfig} ui --no-browser`);
    await page[Symbol.asyncDispose]();
  });

  it("says where the page is and what to try, in commands that work as they are", async () => {
    const told = await ToldCluster.create();
    const output = { isTTY: true, text: "", write: (chunk: string) => (output.text += chunk) };
    const screen = new Screen(output, { columns: 80, utf8: false, color: false });
    screen.progress("", "putting the addons, VMs and networks back");
    invite(screen, told.opened, PAGE);
    const text = output.text.split("\u001b[2K").at(-1) ?? "";
    expect(text).not.toContain("putting");
    expect(text).toContain(`\n  ${PAGE}\n`);
    expect(text).toContain(`\n  export KUBECONFIG=${told.demo.cluster.kubeconfig}\n`);
    expect(text).toContain(`\n  export PATH=${told.tools}:$PATH\n`);
    expect(text).toContain("\n  kubectl macpool networks\n");
    expect(text.trimEnd().split("\n").at(-1)).toBe("Ctrl-C stops it and removes everything.");
    const copy = /sed '[^']+'/.exec(text)?.[0] ?? "";
    const vm = "metadata:\n  name: web\n  labels:\n    app: web\nspec:\n  interfaces:\n  - name: net1\n";
    const { stdout } = await runCommand(["sh", "-c", copy], { stdin: vm });
    expect(stdout).toBe(vm.replace("name: web\n", "name: copy\n"));
  });
});
