import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand } from "./command.ts";

describe("what a cluster needs from the machine", () => {
  it("is named in one sentence where the kernel refuses namespaces", async () => {
    const program = `
      const { requireNamespaces } = await import(${JSON.stringify(join(import.meta.dirname, "requirements.ts"))});
      await requireNamespaces().catch((error) => console.log(error.name + ": " + error.message));`;
    // A user namespace that allows one more below it, which is used up before the program asks.
    const limited = `
      echo 1 > /proc/sys/user/max_user_namespaces
      exec unshare --user --map-user=1000 --map-group=1000 "$@"`;
    const asNobody = ["unshare", "--user", "--map-root-user", "sh", "-c", limited, "sh"];
    const { stdout } = await runCommand([...asNobody, process.execPath, "--input-type=module", "--eval", program]);
    expect(stdout).toMatch(
      /^MissingRequirement: The kernel refuses namespaces to the user \S+ \(unshare: .*\): run as root, or allow user namespaces \(.*\)\.\n$/,
    );
  });
});
