import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { functionsOf } from "../../cni-plugins/elf-symbols.ts";
import { link } from "../../cni-plugins/ordered-link.ts";

const LINKER = path.resolve(import.meta.dirname, "../../cni-plugins/ordered-link.ts");

const PROGRAM = `
int first(void) { return 1; }
int second(void) { return 2; }
static int private_to_the_file(void) { return 3; }
static int (*choose(void))(void) { return private_to_the_file; }
int chosen(void) __attribute__((ifunc("choose")));
int main(void) { return first() + second() + private_to_the_file() + chosen() - 9; }
`;
const OWN = ["first", "second", "private_to_the_file", "chosen", "main"];

/** Where Rust keeps the lld that it has `cc` link with; undefined before 1.90. */
function folderOfLld(): string | undefined {
  const { stdout } = spawnSync("rustc", ["--print", "sysroot"], { encoding: "utf8" });
  const { stdout: about } = spawnSync("rustc", ["--version", "--verbose"], { encoding: "utf8" });
  const host = /^host: (.*)$/m.exec(about)?.[1] ?? "";
  const folder = path.join(stdout.trim(), "lib/rustlib", host, "bin/gcc-ld");
  return existsSync(folder) ? folder : undefined;
}

const lld = folderOfLld();
let directory = "";
let object = "";

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "ordered-link-"));
  object = path.join(directory, "program.o");
  await writeFile(path.join(directory, "program.c"), PROGRAM);
  execFileSync("cc", ["-O0", "-ffunction-sections", "-c", "-o", object, path.join(directory, "program.c")]);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** Of the program's own functions, as they lie in the executable, which works. */
async function namesInOrder(executable: string): Promise<readonly string[]> {
  execFileSync(executable);
  const functions = [...functionsOf(await readFile(executable))].filter(({ name }) => OWN.includes(name));
  return functions.sort((a, b) => a.offset - b.offset).map(({ name }) => name);
}

it("links as the C compiler does where its linker takes no order", async () => {
  const output = path.join(directory, "plain");
  execFileSync(process.execPath, [LINKER, object, "-o", output]);
  expect(await namesInOrder(output)).toEqual(OWN);
});

it("fails as the C compiler does, once, and says why", () => {
  const args = [LINKER, path.join(directory, "none.o"), "-o", path.join(directory, "failed")];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr.match(/none\.o: No such file/g)).toHaveLength(1);
});

describe.skipIf(lld === undefined)("linked by the lld of Rust 1.90 or later", () => {
  it("has the functions that are listed first, as they are listed, and works", async () => {
    const list = path.join(directory, "list.txt");
    await writeFile(list, "# what calls use\nprivate_to_the_file\nnot_there\nchosen\nmain\n");
    const output = path.join(directory, "ordered");
    expect(link([object, "-static", `-B${lld}`, "-fuse-ld=lld", "-o", output], list)).toBe(0);
    expect(await namesInOrder(output)).toEqual(["private_to_the_file", "chosen", "main", "first", "second"]);
  });
});
