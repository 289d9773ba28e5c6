import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Opens a page whose address is a secret. Everybody on the machine can read the arguments of a process, so that the browser is
 * given a file of this user that leads there.
 */

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};
const OTHER_OPENER: readonly string[] = ["xdg-open"];

export interface OpenedPage extends AsyncDisposable {
  /** Whether a program was found that opens pages. */
  readonly opened: boolean;
}

/** `command` in place of the platform's opener. Disposing of it removes the file. */
export async function openPage(url: string, command = OPENERS[process.platform] ?? OTHER_OPENER): Promise<OpenedPage> {
  const folder = await mkdtemp(join(tmpdir(), "kubectl-macpool-"));
  const file = join(folder, "open.html");
  const html = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${url}"><a href="${url}">MAC pool</a>\n`;
  await writeFile(file, html, { mode: 0o600 });
  const [program = "", ...args] = command;
  const opened = await new Promise<boolean>((resolve) => {
    const child = spawn(program, [...args, pathToFileURL(file).href], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
  return { opened, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
