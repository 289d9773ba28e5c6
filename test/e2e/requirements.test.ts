/** Machines that can't run real nodes, each made in a namespace of its own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mustRun } from "../cluster/command.ts";
import { noRealNodes } from "./real-nodes.ts";

const PROGRAM = join(import.meta.dirname, "missing.ts");

describe.skipIf(await noRealNodes())("real nodes are refused in one sentence", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "requirements-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const said = async (unshare: readonly string[], script: string): Promise<string> => {
    const node = ["sh", "-e", "-c", `${script}\nexec "$@"`, "sh", process.execPath, PROGRAM];
    const output = await mustRun(["unshare", ...unshare, ...node], { env: { ...process.env, FOLDER: folder } });
    return output.trim();
  };

  it("without root", async () => {
    expect(await said(["--user"], ":")).toBe(
      "Real nodes need root: kubelet and containerd mount and make control groups.",
    );
  });

  it("without space", async () => {
    const script = 'mount -t tmpfs -o size=8m small "$FOLDER"; export TMPDIR="$FOLDER"';
    expect(await said(["--mount"], script)).toBe(
      `${folder} has 0.0 GiB left; real nodes need 3.0 GiB for images and logs (TMPDIR names another place).`,
    );
  });

  it("without control groups that can be written", async () => {
    const script = "mount -t tmpfs -o ro none /sys/fs/cgroup";
    expect(await said(["--mount"], script)).toMatch(/^\/sys\/fs\/cgroup is not writable|^This machine has no cgroup/);
  });
});
