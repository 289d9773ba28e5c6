import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";
import { goldenPath, onEveryTerminal, transcript } from "./support/golden.ts";
import { macpool, NARROW } from "./support/macpool.ts";
import * as answers from "./support/network-answers.ts";
import { problem, type Script, status } from "./support/scripted-cluster.ts";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

const list = (items: readonly object[]) => ({ body: { items, total: items.length } });

/** Answers as the pool does. */
const restOf =
  ({ networks, bridges }: Pick<typeof answers, "networks" | "bridges">): NonNullable<Script["rest"]> =>
  (path, query) => {
    const [collection, ...names] = path.split("/");
    if (collection === "bridges") return list(bridges);
    if (names.length === 0) {
      const search = query.get("search") ?? "";
      const isMeant = (one: (typeof networks)[number]): boolean =>
        `${one.namespace}/${one.name} ${one.bridge}`.includes(search);
      return list(networks.filter(isMeant));
    }
    const found = networks.find(({ namespace, name }) => `${namespace}/${name}` === names.join("/"));
    const detail = `There is no NetworkAttachmentDefinition ${names.join("/")}. Did you mean vlan100?`;
    return found === undefined ? problem(404, "NOT_FOUND", detail) : { body: found };
  };

describe("kubectl macpool networks", () => {
  it.each([
    ["networks", ["networks"]],
    ["network", ["network", "tenant-a/vlan100"]],
  ] as const)("%s: on terminals of any width, and into a pipe", async (name, argv) => {
    harness.cluster.script = { rest: restOf(answers) };
    const texts = await onEveryTerminal(argv, (terminal) => macpool(harness.kubeconfig, argv, { terminal }));
    await expect(texts).toMatchFileSnapshot(goldenPath(name));
  });

  it.each([
    ["networks-wide", ["networks", "-o", "wide"], answers],
    ["networks-folded", ["networks"], answers.manyNodes],
    ["network-waiting", ["network", "br9", "-n", "tenant-lab"], answers],
  ] as const)("%s", async (name, argv, answered) => {
    harness.cluster.script = { rest: restOf(answered) };
    const ended = await macpool(harness.kubeconfig, argv, { terminal: NARROW });
    await expect(transcript(argv, "80 columns", ended)).toMatchFileSnapshot(goldenPath(name));
  });

  it("has a heading for networks without a bridge, and for a bridge that the pool does not tell", async () => {
    const { networks } = answers;
    const bridges = answers.bridges.slice(0, 2);
    const { stdout } = await harness.say({ rest: restOf({ networks, bridges }) }, "networks", "--no-headers");
    const first = stdout.split("\n").map((line) => line.split(/(?<=\S) {2,}/)[0]);
    expect(first.filter((text) => text !== "")).toEqual([
      "br1 on 1 of 3 nodes",
      "  default/br1-net",
      "  tenant-a/vlan100",
      "br2 on 1 of 3 nodes",
      "br9",
      "  tenant-lab/br9",
      "without a bridge",
      "  tenant-lab/sriov",
    ]);
  });

  it("finds networks by a part of a name or of a bridge, and shows their bridges", async () => {
    const { stdout } = await harness.say({ rest: restOf(answers) }, "networks", "br9", "-o", "json");
    const { bridges, networks } = JSON.parse(stdout);
    expect(bridges).toEqual([answers.bridges[2]]);
    expect(networks).toEqual([answers.networks[2]]);
    const { stdout: names } = await harness.say({ rest: restOf(answers) }, "networks", "vlan", "-o", "name");
    expect(names).toBe("networkattachmentdefinition.k8s.cni.cncf.io/vlan100\n");
  });

  it("asks for one namespace where that is named, as who may read no other", async () => {
    await harness.say({ rest: restOf(answers) }, "networks", "-n", "tenant-a");
    const asked = harness.cluster.asked.map(({ path }) => path.split("/proxy")[1]).filter((path) => path !== undefined);
    expect(asked).toEqual([
      "/api/v1/networks?namespace=tenant-a&limit=500",
      "/api/v1/bridges?namespace=tenant-a&limit=500",
    ]);
  });

  it("says that there is none", async () => {
    const told = async (...args: string[]) => {
      const { exitCode, stderr } = await harness.say(
        { rest: restOf({ networks: [], bridges: [] }) },
        "networks",
        ...args,
      );
      return `${exitCode} ${stderr}`;
    };
    expect(await told()).toBe("0 No network and no bridge is known.\n");
    expect(await told("nope")).toBe('0 No network and no bridge has "nope" in its name.\n');
    expect(await told("-n", "default")).toBe("0 No network and no bridge is known in namespace default.\n");
  });

  it("says in the pool's words that there is no such network", async () => {
    const { exitCode, stderr } = await harness.say({ rest: restOf(answers) }, "network", "vlan10", "-n", "tenant-a");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("error: there is no NetworkAttachmentDefinition tenant-a/vlan10: did you mean vlan100?\n");
  });

  it("refuses what is no name", async () => {
    for (const argv of [
      ["network"],
      ["network", "a/b/c"],
      ["network", "/b"],
      ["network", "b", "-A"],
      ["networks", "a", "b"],
    ]) {
      expect([argv, (await harness.say({ rest: restOf(answers) }, ...argv)).exitCode]).toEqual([argv, 2]);
    }
  });

  it("says without the service what else to ask", async () => {
    const { exitCode, stderr } = await harness.say({ proxy: status(503, "no endpoints available") }, "networks");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("kubectl macpool lint -f FILE --nodes");
  });
});
