import { expect, it } from "vitest";
import { bridge } from "../../cni-plugins/bridge/bridge.ts";
import { type Plugin, runPlugin } from "../../cni-plugins/cni/plugin.ts";
import { EFBIG, EILSEQ } from "../../cni-plugins/netlink/errno.ts";
import { tuning } from "../../cni-plugins/tuning/tuning.ts";
import { COMMANDS, LAYER_2, makeDocument, TUNING } from "../netns/hostile-document.ts";
import { Random } from "../support/random.ts";
import { share } from "../support/share.ts";
import { MemoryKernel } from "./memory-kernel.ts";
import { MemorySyscalls } from "./memory-syscalls.ts";

/** FUZZ_DOCUMENTS=100000 for the long run. */
const DOCUMENTS = Number(process.env.FUZZ_DOCUMENTS ?? share(500));
const SEED = 21;
const NETNS = "/run/netns/pod";
const INTERNAL = 100;

/** Refuses what the executable's own stdin does. */
class FuzzedSyscalls extends MemorySyscalls {
  readonly #document: Buffer;

  constructor(kernel: MemoryKernel, env: Record<string, string>, document: string | Buffer) {
    super(kernel, env);
    this.#document = Buffer.from(document);
  }

  override readStdin = (limitBytes = 0): string => {
    if (this.#document.length > limitBytes) throw refusal(EFBIG);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.#document);
    } catch {
      throw refusal(EILSEQ);
    }
  };
}

function refusal(errno: number): Error {
  return Object.assign(new Error("read stdin failed"), { errno });
}

function freshKernel(): MemoryKernel {
  const kernel = new MemoryKernel();
  kernel.namespaces.add(NETNS);
  kernel.addLink({ name: "net1", namespace: NETNS, kind: "veth" });
  return kernel;
}

function call(kernel: MemoryKernel, plugin: Plugin, command: string, document: string | Buffer): FuzzedSyscalls {
  const [CNI_CONTAINERID, CNI_IFNAME] = plugin.name === "tuning" ? ["pod", "net1"] : ["pod", "net2"];
  const env = { CNI_COMMAND: command, CNI_CONTAINERID, CNI_NETNS: NETNS, CNI_IFNAME, CNI_PATH: "/bin" };
  const syscalls = new FuzzedSyscalls(kernel, env, document);
  runPlugin(syscalls, plugin);
  return syscalls;
}

it("every hostile document gets one JSON answer from the plugins in this process, and nothing is left behind", {
  timeout: 1_800_000,
}, () => {
  const outcomes: Record<string, number> = {};
  for (let number = 0; number < DOCUMENTS; number++) {
    const random = new Random(SEED * 1_000_003 + number);
    const plugin = random.pick([bridge, tuning]);
    const command = random.pick(COMMANDS);
    const document = makeDocument(random, plugin === bridge ? LAYER_2 : TUNING);
    const kernel = freshKernel();
    const syscalls = call(kernel, plugin, command, document);
    const about = () => `document ${number}, ${plugin.name} ${command}: ${syscalls.stdout.slice(0, 300)}`;
    const code = syscalls.exitCode === 0 ? 0 : syscalls.answer().code;
    outcomes[`${code}`] = (outcomes[`${code}`] ?? 0) + 1;
    if (syscalls.exitCode !== 0 && syscalls.exitCode !== 1) expect.fail(about());
    if (code === INTERNAL || (syscalls.exitCode === 1 && syscalls.stdout.trimEnd().includes("\n")))
      expect.fail(about());
    if (command === "ADD" && code === 0) expect(call(kernel, plugin, "DEL", document).exitCode, about()).toBe(0);
    const left = kernel.links.filter(({ kind, name }) => kind === "veth" && name !== "net1");
    if (left.length > 0) expect.fail(`${about()}: ${left.map(({ name }) => name)} stayed`);
  }
  expect(Object.keys(outcomes).map(Number)).toEqual(expect.arrayContaining([0, 1, 4, 5, 6, 7]));
});
