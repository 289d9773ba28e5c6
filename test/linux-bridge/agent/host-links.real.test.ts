import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HostLink } from "../../../src/linux-bridge/agent/host-links.ts";
import { runCommand } from "../../cluster/command.ts";

const LIST_LINKS = join(import.meta.dirname, "list-links.ts");
const USER = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
const STAYING = Array.from({ length: 50 }, (_, index) => `stays${index}`);
const LISTS = 20;

interface Printed {
  readonly lists: readonly (readonly HostLink[] | string)[];
  readonly open: number;
}

/** What `list-links.ts` prints in a network namespace that the script prepares. */
async function listed(script: string, prefix: readonly string[] = [], times = 1): Promise<Printed> {
  const list = [...prefix, process.execPath, LIST_LINKS, `${times}`];
  const { stdout, stderr } = await runCommand([
    "unshare",
    ...USER,
    "--net",
    "sh",
    "-ec",
    `${script}\n"$@"`,
    "sh",
    ...list,
  ]);
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

describe("the list of the host's links", () => {
  it("has names, aliases, and what bridges do with VLANs", async () => {
    const { lists, open } = await listed(`ip link add br1 type bridge
      ip link add veth1 type veth peer name veth2
      ip link set veth1 alias cni-bridge:net/c1/net1`);
    const links = [...(lists[0] as HostLink[])].sort((one, other) => one.name.localeCompare(other.name));
    expect(links).toEqual([
      { index: 2, name: "br1", alias: "", filtersVlans: false, isPort: false },
      { index: 1, name: "lo", alias: "", isPort: false },
      { index: 4, name: "veth1", alias: "cni-bridge:net/c1/net1", isPort: false },
      { index: 3, name: "veth2", alias: "", isPort: false },
    ]);
    expect(open).toBe(0);
  });

  it("lacks no link that stays while others come and go", async () => {
    const { lists } = await listed(
      `for link in ${STAYING.join(" ")}; do echo "link add $link type veth"; done | ip -batch -
      (while ip link add comes type veth && ip link del comes; do :; done) 2> /dev/null &
      churn=$!; trap 'kill $churn' EXIT`,
      [],
      LISTS,
    );
    expect(lists).toHaveLength(LISTS);
    for (const links of lists) {
      if (typeof links === "string") expect(links).toContain("changed during each of");
      else expect(links.map(({ name }) => name)).toEqual(expect.arrayContaining(STAYING));
    }
    expect(lists.some((links) => typeof links !== "string")).toBe(true);
  });

  it.each([
    ["is refused", "sendmsg:error=EPERM", "operation not permitted"],
    ["is not read", "recvmsg:error=ENOBUFS", "no buffer space available"],
    ["is not answered", "sendmsg:retval=40", "no answer of the kernel in 5 s"],
  ])("that %s is one error, and closes its socket", async (_, fault, message) => {
    const strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", `inject=${fault}`];
    const { lists, open } = await listed("", strace);
    expect(lists).toEqual([expect.stringMatching(/^the links of the host could not be listed: /)]);
    expect(lists[0]).toContain(message);
    expect(open).toBe(0);
  });
});
