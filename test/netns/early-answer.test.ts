import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, readlink } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { add, type CniCall, del } from "./cni-call.ts";
import { NETNS, PreparedNode } from "./prepared-node.ts";

const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };
const SPOOF_CHECKED = { ...CONFIG, macspoofchk: true };
const TRACE = "/run/trace";
/** Elsewhere there is no such child. */
const isInitial = (await readlink("/proc/self/ns/pid")) === "pid:[4026531836]";
const PARALLEL = 50;
const ROUNDS = 10;

let node: PreparedNode;
let call: CniCall;

beforeEach(async () => {
  node = await PreparedNode.create();
  call = await node.call("bridge");
  await write(CONFIG);
});

afterEach(() => node[Symbol.asyncDispose]());

const CONFIG_FILE = "/run/config.json";

/** For a shell that runs on the node, with the configuration in its file: `$id` and `$netns` say of what. */
const inShell = (command: string) =>
  `env -i CNI_COMMAND=${command} CNI_CONTAINERID=$id CNI_NETNS=$netns CNI_IFNAME=net1 CNI_PATH=/nowhere \
    ${call.executable} <${CONFIG_FILE}`;

const write = (config: object) => node.shell(`echo '${JSON.stringify(config)}' >${CONFIG_FILE}`);

/** What is left of the pair, in the node's namespace and the container's. */
const LEFT = `ip -o link show type veth | grep -v keep; ip -n $name -o link show type veth`;

/** Processes in the node's network namespace but those that hold it; by pid. */
async function processes(): Promise<Record<string, string>> {
  const wanted = await readlink(`/proc/${node.node.pid}/ns/net`);
  const found: Record<string, string> = {};
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid) || pid === `${node.node.pid}`) continue;
    const netns = await readlink(`/proc/${pid}/ns/net`).catch(() => "");
    if (netns === wanted) found[pid] = (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).trim();
  }
  return found;
}

/** Plugins that ended and whose end nobody waited for, on the whole machine: `pid start-time`. */
async function zombies(): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")));
  const ended = stats.filter((stat) => /^\d+ \(bridge\) Z /.test(stat)).map((stat) => stat.split(" "));
  return ended.map((fields) => `${fields[0]} ${fields[21]}`);
}

/** Until nothing is left of the plugins that were called; other tests make new zombies meanwhile. */
async function expectNoneLeft(): Promise<void> {
  await expect.poll(processes).toEqual({});
  const left = await zombies();
  await expect.poll(async () => (await zombies()).filter((one) => left.includes(one))).toEqual([]);
}

const nameContainer = (name: string) => node.shell(`ip netns attach ${name} ${node.container.pid}`);

describe("after the answer to a DEL", () => {
  it.each([
    ["on layer 2", CONFIG],
    ["with a spoof check", SPOOF_CHECKED],
  ])("%s nobody finds the pair, and the processes end by themselves", async (_, config) => {
    await write(config);
    await nameContainer("c0");
    for (let round = 0; round < ROUNDS; round++) {
      await add(call, config);
      const script = `id=container netns=${NETNS} name=c0; ${inShell("DEL")}; ${LEFT}; true`;
      expect(await node.shell(script)).toBe("");
    }
    await expectNoneLeft();
  });

  it(`nobody finds any of ${PARALLEL} that went at once`, async () => {
    const names = `$(seq ${PARALLEL} | sed s/^/c/)`;
    const assign = "id=$name netns=/run/netns/$name";
    const answers = await node.shell(`for name in ${names}; do
        ip netns add $name; ${assign}
        ${inShell("ADD")} >/run/added-$name &
      done; wait
      for name in ${names}; do ${assign}; { ${inShell("DEL")}; ip -n $name -o link show type veth; } & done; wait
      ip -o link show type veth | grep -v keep; cat /run/added-* | grep -c sandbox; true`);
    expect(answers).toBe(`${PARALLEL}\n`);
    await expectNoneLeft();
  });

  it("the interface of another implementation in the container is gone too", async () => {
    await nameContainer("c0");
    await node.shell("ip -n c0 link add net1 type dummy 2>/dev/null || ip -n c0 link add net1 type bridge");
    const script = `id=container netns=${NETNS} name=c0; ${inShell("DEL")}; ip -n c0 -o link show net1; true`;
    expect(await node.shell(`${script} 2>/dev/null`)).toBe("");
  });
});

describe.skipIf(!isInitial)("a child that outlives a DEL", () => {
  it("has nothing of the plugin's but netlink sockets, and lets the answer end", async () => {
    await write(SPOOF_CHECKED);
    await add(call, SPOOF_CHECKED);
    const ended = "/run/answer-ended";
    const trace = startTraced("write:signal=STOP", `{ ${inShell("DEL")}; } | cat; touch ${ended}`);
    try {
      await expect.poll(() => node.shell(`ls ${ended} 2>/dev/null; true`)).toBe(`${ended}\n`);
      const [[child = ""] = []] = Object.entries(await processes()).filter(([, name]) => name === "bridge");
      const names = await readdir(`/proc/${child}/fd`);
      const open = await Promise.all(names.map((name) => readlink(`/proc/${child}/fd/${name}`)));
      expect(open.map((one) => one.replace(/:.*/, "")).sort()).toEqual(["pipe", "socket", "socket"]);
      process.kill(Number(child), "SIGCONT");
      await expect.poll(processes).toEqual({});
    } finally {
      trace.kill("SIGKILL");
    }
  });

  it("may be killed before it has asked for anything", async () => {
    await write(SPOOF_CHECKED);
    await add(call, SPOOF_CHECKED);
    await del(call, SPOOF_CHECKED);
    const before = await node.state();
    await add(call, SPOOF_CHECKED);
    const trace = startTraced("close_range:signal=KILL", `${inShell("DEL")}`);
    await once(trace, "exit");
    expect(await node.shell(`cat ${TRACE}; rm ${TRACE}`)).toContain("killed by SIGKILL");
    expect(await node.state()).toBe(before);
  });
});

/** Runs a script under strace, which does that at system calls of any process of it. */
function startTraced(inject: string, script: string): ChildProcess {
  const strace = ["strace", "-f", "-o", TRACE, "-e", `inject=${inject}`, "sh", "-c"];
  const [program = "", ...args] = node.node.enter([...strace, `id=container netns=${NETNS}; ${script}`]);
  return spawn(program, args, { stdio: "ignore" });
}

describe("a DEL waits for the kernel where nobody may wait for a child", () => {
  it("in another PID namespace, where no process stays behind", async () => {
    await nameContainer("c0");
    await add(call, CONFIG);
    const inside = `id=container netns=${NETNS} name=c0; ${inShell("DEL")}; set -- /proc/[0-9]*; echo $#; ${LEFT}; true`;
    const left = await node.shell(`unshare --pid --fork --mount-proc sh -c '${inside.replaceAll("'", `'"'"'`)}'`);
    expect(left).toBe("1\n");
  });

  it("without /proc", async () => {
    await nameContainer("c0");
    await add(call, CONFIG);
    const inside = `id=container netns= name=c0; ${inShell("DEL")}`;
    const hidden = `mount -t tmpfs tmpfs /proc; ${inside.replaceAll("'", `'"'"'`)}`;
    expect(await node.shell(`unshare --mount sh -c '${hidden}'; name=c0; ${LEFT}; true`)).toBe("");
  });
});
