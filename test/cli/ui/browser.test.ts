import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openPage } from "../../../src/cli/ui/browser.ts";
import { makeRunDirectory } from "../../cluster/run-directory.ts";
import { eventually } from "../../support/eventually.ts";

const URL = "http://127.0.0.1:4711/a-secret/";

it("gives the browser a file of this user, since everybody reads the arguments of a process", async () => {
  const told = join(await makeRunDirectory(), "told");
  let file = "";
  {
    await using page = await openPage(URL, ["sh", "-c", `printf %s "$0" > ${told}.part && mv ${told}.part ${told}`]);
    expect(page.opened).toBe(true);
    let given = "";
    await eventually("the browser was started", async () => {
      given = await readFile(told, "utf8").catch(() => "");
      return given !== "";
    });
    expect(given).not.toContain("a-secret");
    file = fileURLToPath(given);
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect(await readFile(file, "utf8")).toContain(`url=${URL}`);
  }
  await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
});

it("says when there is no program that opens pages", async () => {
  await using page = await openPage(URL, ["/no/such/program"]);
  expect(page.opened).toBe(false);
});
