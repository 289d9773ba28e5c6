import { beforeEach, describe, expect, it } from "vitest";
import { runPlugin } from "../../../cni-plugins/cni/plugin.ts";
import { tuning } from "../../../cni-plugins/tuning/tuning.ts";
import { MemoryKernel } from "../memory-kernel.ts";
import { MemorySyscalls } from "../memory-syscalls.ts";

const NETNS = "/run/netns/pod";
const ALLOW_LIST = "/etc/cni/tuning/allowlist.conf";
const PREVIOUS = { cniVersion: "1.0.0", interfaces: [{ name: "net1", mac: "02:00:00:00:00:01", sandbox: NETNS }] };

let kernel: MemoryKernel;

beforeEach(() => {
  kernel = new MemoryKernel();
  kernel.namespaces.add(NETNS);
  kernel.addLink({ name: "net1", namespace: NETNS, kind: "veth" });
});

function call(command: string, config: object, files: Record<string, string> = {}): MemorySyscalls {
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: "pod-1",
    CNI_NETNS: NETNS,
    CNI_IFNAME: "net1",
    CNI_PATH: "/bin",
  };
  const stdin = { cniVersion: "1.0.0", name: "net", type: "tuning", prevResult: PREVIOUS, ...config };
  const syscalls = new MemorySyscalls(kernel, env, JSON.stringify(stdin));
  Object.assign(syscalls.files, files);
  runPlugin(syscalls, tuning);
  return syscalls;
}

const sysctl = (name: string): string => `${NETNS}:/proc/sys/net/ipv4/conf/net1/${name}`;

describe("sysctls", () => {
  it.each(["net.ipv4.conf.IFNAME.arp_notify", "net/ipv4/conf/IFNAME/arp_notify", ".net.ipv4..conf/IFNAME.arp_notify"])(
    "%s is written in the container's namespace",
    (key) => {
      const { files, exitCode } = call("ADD", { sysctl: { [key]: "1" } });
      expect([exitCode, files[sysctl("arp_notify")]]).toEqual([0, "1"]);
    },
  );

  it("replaces the first IFNAME only", () => {
    const { files } = call("ADD", { sysctl: { "net.ipv4.conf.IFNAME.IFNAME": "1" } });
    expect(files[sysctl("IFNAME")]).toBe("1");
  });

  it.each(["kernel.hostname", "net", "networks.x", "", "...", "fs/net/x", "__proto__"])("%j is refused", (key) => {
    expect(call("ADD", { sysctl: { [key]: "1" } }).answer()).toMatchObject({ code: 7 });
  });

  it("are all allowed without an allow-list, and only those it names with one", () => {
    const config = { sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1" } };
    expect(call("ADD", config).exitCode).toBe(0);
    const list = "\n  ^net\\.ipv4\\.conf\\.IFNAME\\.[a-z_]*$ \n\n";
    expect(call("ADD", config, { [ALLOW_LIST]: list }).exitCode).toBe(0);
    const syscalls = call("ADD", { sysctl: { "net.core.somaxconn": "1" } }, { [ALLOW_LIST]: list });
    expect(syscalls.answer()).toMatchObject({
      code: 7,
      msg: expect.stringContaining('"net.core.somaxconn" is not allowed'),
    });
    expect(call("ADD", config, { [ALLOW_LIST]: "" }).answer()).toMatchObject({ code: 7 });
    expect(call("ADD", {}, { [ALLOW_LIST]: "" }).exitCode).toBe(0);
  });

  it("are refused when a line of the allow-list can't be read", () => {
    const syscalls = call("ADD", { sysctl: { "net.core.somaxconn": "1" } }, { [ALLOW_LIST]: "fs\n(" });
    expect(syscalls.answer()).toMatchObject({
      code: 7,
      msg: expect.stringContaining('"(" is not a regular expression'),
    });
  });
});

describe("the configuration", () => {
  it("warns about keys that nobody knows, and names the one that was meant", () => {
    const { stderr, exitCode } = call("ADD", { alllmulti: true });
    expect([exitCode, stderr]).toEqual([
      0,
      expect.stringContaining('"alllmulti" is ignored: did you mean "allmulti"?'),
    ]);
  });

  it("is checked by STATUS without touching anything", () => {
    expect(call("STATUS", { cniVersion: "1.1.0", prevResult: undefined }).exitCode).toBe(0);
    expect(call("STATUS", { cniVersion: "1.1.0", mtu: "large" }).answer()).toMatchObject({ code: 7 });
  });

  it("passes on what it does not know of the result before it", () => {
    const prevResult = { ...PREVIOUS, ips: [{ address: "10.0.0.1/24" }], dns: { domain: "x" }, extra: [1] };
    expect(call("ADD", { prevResult }).answer()).toEqual(prevResult);
  });
});
