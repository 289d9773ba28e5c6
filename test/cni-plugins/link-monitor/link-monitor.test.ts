import { beforeEach, describe, expect, it } from "vitest";
import { parseArguments } from "../../../cni-plugins/link-monitor/arguments.ts";
import { LinkMonitor } from "../../../cni-plugins/link-monitor/link-monitor.ts";
import { EAGAIN } from "../../../cni-plugins/netlink/errno.ts";
import * as nl from "../../../cni-plugins/netlink/rtnetlink.ts";
import { MemoryKernel } from "../memory-kernel.ts";
import { MemorySyscalls } from "../memory-syscalls.ts";

const ARGUMENTS = {
  resyncSeconds: 60,
  heartbeatSeconds: undefined,
  reportSocket: undefined,
  addresses: false,
  bridges: false,
  namespaces: false,
};

let kernel: MemoryKernel;
let syscalls: MemorySyscalls;

beforeEach(() => {
  kernel = new MemoryKernel();
  syscalls = new MemorySyscalls(kernel);
});

/** Does one thing each time the monitor waits, then ends its stdin; what it printed, line by line. */
function run(things: readonly (() => void)[], options: object = {}): Record<string, unknown>[] {
  const rest = [...things];
  syscalls.onPoll = () => {
    const next = rest.shift();
    if (next === undefined) syscalls.stdinEnded = true;
    else next();
  };
  new LinkMonitor(syscalls, { ...ARGUMENTS, ...options }).run();
  return syscalls.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** From now on each answer to a request says in its messages of a type that the list changed while it was written. */
function interrupt(type: number | undefined): void {
  syscalls.netlinkReceive = (fd, buffer) => {
    const length = kernel.netlinkReceive(fd, buffer);
    const header = new DataView(buffer.buffer, buffer.byteOffset);
    const isAnswer = header.getUint32(8, true) !== 0;
    if (isAnswer && header.getUint16(4, true) === type) {
      header.setUint16(6, header.getUint16(6, true) | nl.NLM_F_DUMP_INTR, true);
    }
    return length;
  };
}

const added = () => kernel.addLink({ name: "br2" });
const renamed = () => kernel.changeLink(kernel.links[0] ?? added(), { name: "br3" });
const gone = () => kernel.removeLink(kernel.links[0] ?? added());
const wait = () => {};

const names = (lines: Record<string, unknown>[]) =>
  lines.map(({ event, name }) => (name === undefined ? event : `${event} ${name}`));

describe("the link monitor", () => {
  it("prints every link, then that it is in step", () => {
    const { index } = kernel.addLink({ name: "br1", mac: new Uint8Array([2, 0, 0, 0, 0, 1]) });
    expect(run([])).toEqual([
      { event: "link", index, name: "br1", kind: "bridge", up: true, master: 0, mac: "02:00:00:00:00:01", mtu: 1500 },
      { event: "synced" },
    ]);
  });

  it("prints the address that the hardware came with where the link has another one", () => {
    const [own, bonds] = [new Uint8Array([2, 0, 0, 0, 0, 1]), new Uint8Array([2, 0, 0, 0, 0, 2])];
    kernel.addLink({ name: "eth0", kind: "", mac: own, permanentMac: own });
    kernel.addLink({ name: "eth1", kind: "", mac: bonds, permanentMac: own });
    const [eth0, eth1] = run([]);
    expect(eth0).not.toHaveProperty("permanentMac");
    expect(eth1).toMatchObject({ mac: "02:00:00:00:00:02", permanentMac: "02:00:00:00:00:01" });
  });

  it("prints links that come, change and go", () => {
    expect(names(run([added, renamed, wait, gone, wait]))).toEqual(["synced", "link br2", "link br3", "gone br3"]);
  });

  it("prints what became of a link that changes again and again", () => {
    kernel.addLink({ name: "br1" });
    const rage = () => {
      for (let i = 0; i < 50; i++) kernel.changeLink(kernel.links[0] ?? added(), { name: `other${i}` });
    };
    expect(names(run([rage, rage, rage, wait]))).toEqual(["link br1", "synced", "link other49"]);
  });

  it("prints nothing of what was undone meanwhile, and the end of what was never printed", () => {
    const link = kernel.addLink({ name: "br1" });
    const undone = () => {
      for (const name of ["x", "br1"]) kernel.changeLink(link, { name });
    };
    const brief = () => kernel.removeLink(kernel.addLink({ name: "veth0" }));
    expect(names(run([added, undone, brief, wait]))).toEqual(["link br1", "synced", "link br2", "gone veth0"]);
  });

  it("prints changes of links before the end of a namespace that came after them", () => {
    const changed = () => {
      kernel.changeLink(kernel.links[0] ?? added(), { name: "br3" });
      kernel.endNamespace();
    };
    expect(names(run([added, changed], { namespaces: true }))).toEqual([
      "synced",
      "link br2",
      "link br3",
      "namespace-gone",
    ]);
  });

  it("prints nothing for a change it does not report", () => {
    const link = kernel.addLink({ name: "br1" });
    expect(names(run([() => kernel.changeLink(link, { alias: "renamed" })]))).toEqual(["link br1", "synced"]);
  });

  it("prints the whole list again when the kernel dropped events", () => {
    const lose = () => {
      kernel.addLink({ name: "br1" });
      kernel.overflow();
    };
    expect(names(run([lose]))).toEqual(["synced", "lost", "link br1", "synced"]);
  });

  it("prints the whole list again from time to time", () => {
    kernel.addLink({ name: "br1" });
    expect(names(run([() => {}], { resyncSeconds: 1 }))).toEqual([
      "link br1",
      "synced",
      "resync",
      "link br1",
      "synced",
    ]);
  });

  it.each(["in the list", "at its end"])(
    "says that it is in step only after a list that did not change meanwhile, as the kernel tells %s",
    (where) => {
      kernel.addLink({ name: "br1" });
      interrupt(where === "in the list" ? nl.RTM_NEWLINK : nl.NLMSG_ERROR);
      const meanwhile = () => kernel.addLink({ name: "br2" });
      const calm = () => interrupt(undefined);
      expect(names(run([meanwhile, () => {}, calm]))).toEqual([
        ...["link br2", "resync", "resync", "link br1", "link br2", "synced"],
      ]);
    },
  );

  it("says so anew after it lost events, and goes on with the list it had", () => {
    kernel.addLink({ name: "br1" });
    const lose = () => {
      interrupt(nl.NLMSG_ERROR);
      kernel.overflow();
    };
    const printed = names(run([lose, () => interrupt(undefined)], { resyncSeconds: 3600 }));
    expect(printed).toEqual(["link br1", "synced", "lost", "resync", "link br1", "synced"]);
  });

  it("prints a heartbeat when asked, also when nothing happens", () => {
    expect(names(run([() => {}, () => {}], { heartbeatSeconds: 10 }))).toEqual(["synced", "alive", "alive"]);
    syscalls = new MemorySyscalls(kernel);
    const busy = () => kernel.addLink({ name: "br1" });
    expect(names(run([busy, () => {}], { heartbeatSeconds: 10 }))).toEqual(["synced", "link br1", "alive"]);
  });

  it("prints what plugins report and drops what is no report", () => {
    const report = { plugin: "bridge", command: "ADD", network: "net", code: 0, ms: 1.5 };
    const datagrams = [JSON.stringify({ ...report, extra: 1 }), "{", JSON.stringify({ plugin: "bridge" })];
    syscalls.bindReports = () => 99;
    syscalls.read = (fd, buffer) => {
      const next = fd === 99 ? datagrams.shift() : "";
      if (next === undefined) throw Object.assign(new Error("read failed"), { errno: EAGAIN });
      return new TextEncoder().encodeInto(next, buffer).written;
    };
    syscalls.poll = (fds) => fds.map((fd) => (fd === 99 ? 1 : fd === 0 && datagrams.length === 0 ? 16 : 0));
    new LinkMonitor(syscalls, { ...ARGUMENTS, reportSocket: "/run/reports" }).run();
    expect(syscalls.stdout.split("\n").slice(1, -1)).toEqual([JSON.stringify({ event: "report", ...report })]);
  });

  it("ends quietly when nobody reads any more", () => {
    syscalls.write = () => {
      throw Object.assign(new Error("write failed"), { errno: 32 });
    };
    expect(() => new LinkMonitor(syscalls, ARGUMENTS).run()).not.toThrow();
  });
});

describe("its command line", () => {
  it.each([
    [[], { resyncSeconds: 600 }],
    [["--resync-seconds", "5"], { resyncSeconds: 5 }],
    [["--resync-seconds=7"], { resyncSeconds: 7 }],
    [["--heartbeat-seconds", "10"], { resyncSeconds: 600, heartbeatSeconds: 10 }],
    [
      ["--addresses", "--report-socket=/run/reports"],
      { resyncSeconds: 600, addresses: true, reportSocket: "/run/reports" },
    ],
    [["--namespaces", "--resync-seconds", "5"], { resyncSeconds: 5, namespaces: true }],
  ])("%j asks for %j", (args, asked) => {
    expect(parseArguments(args)).toEqual({ ok: true, ...ARGUMENTS, ...asked });
  });

  it.each([
    [["--resync-seconds"]],
    [["--resync-seconds", "0"]],
    [["--heartbeat-seconds", "0"]],
    [["--resync-seconds", "soon"]],
    [["-v"]],
    [["--report-socket", "here"]],
  ])("%j is refused", (args) => {
    expect(parseArguments(args)).toMatchObject({ ok: false });
  });
});
