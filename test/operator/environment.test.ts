import path from "node:path";
import { expect, it } from "vitest";
import { runCommand } from "../cluster/command.ts";
import { plainEnv } from "../cluster/requirements.ts";

const MAIN = path.join(import.meta.dirname, "../../src/operator/main.ts");

it.each([
  ["LINUX_BRIDGE_IMAGE", "https://registry.example.com/addons:1"],
  ["LINUX_BRIDGE_MARKER_IMAGE", "registry.example.com/addons"],
  ["KUBEMACPOOL_IMAGE", "addons:1"],
  ["MULTUS_IMAGE", "multus:4"],
])("the operator does not start with %s=%s, and says what an image is", async (variable, image) => {
  const { code, stdout, stderr } = await runCommand([process.execPath, MAIN], {
    env: plainEnv({ HEALTH_PORT: "0", [variable]: image }),
  });
  expect(code).toBe(1);
  const said = `${stdout}${stderr}`.replaceAll("\\", "");
  expect(said).toContain(`${variable}="${image}": an image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST`);
});
