import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../cluster/command.ts";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { borrowControlPlane } from "../support/borrowed-control-plane.ts";
import { releaseText } from "./support/release-text.ts";

/** `kubectl apply` keeps each object in one of its annotations, and annotations have 256 KiB. */
describe("what a release has for kubectl", () => {
  let controlPlane: ControlPlaneAccess;
  beforeAll(async () => {
    controlPlane = await borrowControlPlane();
  });
  afterAll(async () => {
    await controlPlane?.[Symbol.asyncDispose]();
  });

  it.each(["crds-without-rules/networkaddonsconfigs.yaml", "release.yaml", "release.yaml"])(
    "is applied without --server-side, too: %s",
    async (path) => {
      const { kubectlPath, kubeconfig, directory } = controlPlane;
      const file = join(directory, "applied.yaml");
      await writeFile(file, releaseText(path));
      const { code, stderr } = await runCommand([kubectlPath, "--kubeconfig", kubeconfig, "apply", "-f", file]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    },
  );
});
