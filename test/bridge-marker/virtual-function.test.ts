import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isVirtualFunction } from "../../src/bridge-marker/virtual-function.ts";

it("a virtual function is told from other interfaces by its device, as sysfs has it", async () => {
  const sysfs = await mkdtemp(join(tmpdir(), "sysfs-"));
  try {
    const [physical, virtual] = ["0000:3b:00.0", "0000:3b:02.1"].map((address) => join(sysfs, "devices", address));
    for (const device of [physical, virtual]) await mkdir(device ?? "", { recursive: true });
    await symlink("../0000:3b:00.0", join(virtual ?? "", "physfn"));
    for (const [name, device] of Object.entries({ eno1: physical, eno1v1: virtual, br1: undefined })) {
      await mkdir(join(sysfs, "net", name), { recursive: true });
      if (device !== undefined) await symlink(device, join(sysfs, "net", name, "device"));
    }
    const found = ["eno1", "eno1v1", "br1", "gone"].filter((name) => isVirtualFunction(name, join(sysfs, "net")));
    expect(found).toEqual(["eno1v1"]);
  } finally {
    await rm(sysfs, { recursive: true });
  }
});
