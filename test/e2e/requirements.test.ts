/** Machines that can't run real nodes, each made in a namespace of its own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mustRun } from "../cluster/command.ts";
import { findExecutable } from "../cluster/requirements.ts";
import { OTHER_PROCESSOR } from "../support/other-processor.ts";
import { noRealNodes } from "./real-nodes.ts";

const PROGRAM = join(import.meta.dirname, "missing.ts");

describe.skipIf(await noRealNodes())("real nodes are refused in one sentence", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "requirements-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const said = async (unshare: readonly string[], script: string, env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const node = ["sh", "-e", "-c", `${script}\nexec "$@"`, "sh", process.execPath, PROGRAM];
    const output = await mustRun(["unshare", ...unshare, ...node], {
      env: { ...process.env, FOLDER: folder, ...env },
    });
    return output.trim();
  };

  it("without root", async () => {
    expect(await said(["--user"], ":")).toBe(
      "Real nodes need root, because kubelet and containerd mount and make control groups: run this as root.",
    );
  });

  it("on a processor of another architecture", async () => {
    expect(await said(["--mount"], ":", { NODE_OPTIONS: OTHER_PROCESSOR })).toBe(
      "Real nodes run on x64 and arm64; this machine is s390x: take another.",
    );
  });

  it("without space", async () => {
    const script = 'mount -t tmpfs -o size=8m small "$FOLDER"; export TMPDIR="$FOLDER"';
    expect(await said(["--mount"], script)).toBe(
      `${folder} has 0.0 GiB left; real nodes need 3.0 GiB for images and logs (TMPDIR names another place).`,
    );
  });

  it("without nft", async () => {
    const script = `mount --bind /dev/null ${findExecutable("nft")}`;
    expect(await said(["--mount"], script)).toBe(
      "nft not found, needed by kube-proxy: install the package nftables (Debian: apt-get install nftables).",
    );
  });

  it("without a kernel that takes nftables rules from them", async () => {
    const script = 'set -- setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$@"';
    expect(await said(["--mount"], script)).toMatch(
      /^This kernel's nftables lacks what kube-proxy needs \(.*Operation not permitted.*\): load its modules \(.*\), or take another kernel\.$/,
    );
  });

  it("without a controller of control groups", async () => {
    const script = 'mount -t tmpfs none /sys/fs/cgroup; echo "memory pids" >/sys/fs/cgroup/cgroup.controllers';
    expect(await said(["--mount"], script)).toBe(
      "This machine has no cgroup controller cpu, cpuset below /sys/fs/cgroup: kubelets need it (in a container, start it privileged with --cgroupns=host).",
    );
  });

  it("without control groups that can be written", async () => {
    const script =
      'mount -t tmpfs none /sys/fs/cgroup; echo "cpu cpuset memory pids" >/sys/fs/cgroup/cgroup.controllers; mount -o remount,ro /sys/fs/cgroup';
    expect(await said(["--mount"], script)).toBe(
      "/sys/fs/cgroup is not writable, and kubelets make control groups there (in a container, start it privileged with --cgroupns=host).",
    );
  });
});
